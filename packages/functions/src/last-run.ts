import type { LeaseStore, OccurrenceStore } from "@leasehold/core";
import { DEFAULT_REQUEST_TIMEOUT_MS, DEFAULT_RETENTION_MS, occurrencesOf } from "@leasehold/core/provider";

/** The occurrence that was done last. */
export interface LastRun {
  /** Its name in the store, such as `nightly@2026-11-20T03:00:00.000Z`. */
  readonly occurrence: string;
  /** The time at which it was due, in milliseconds since the Unix epoch. */
  readonly scheduledMs: number;
  /** The number of the attempt that did it. */
  readonly attempt: number;
  /** The time at which it was done, by the clock of who did it. */
  readonly doneMs: number;
}

export interface LastRunOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The note's name among the occurrences: theirs have an @ in them. */
const NOTE = "last-run";
/** The share of what is left of an invocation that each request of a note may take. */
const SHARE = 0.1;

/**
 * Reads which occurrence of an election the gate `oncePerTick` has done last: for health checks, and for alerts when nothing has
 * run for too long. Missed occurrences that were caught up with do not count. It needs one request, and the right to read.
 *
 * It is a note that each run writes after its end: it may be missing, or be of the run before, where the store failed at that
 * moment. Whether an occurrence is done, its own record tells. `undefined` where none was done for as long as occurrences are kept.
 *
 * @example
 * ```ts
 * const last = await lastRun(store, "close-the-books");
 * if (!last || Date.now() - last.doneMs > 2 * 3_600_000) await raiseAlarm(last);
 * ```
 * @throws {ConfigurationError} for a name that is none. {UnsupportedError} if the store keeps no occurrences. {StoreError} if it cannot be read.
 */
export async function lastRun(store: LeaseStore, election: string, options: LastRunOptions = {}): Promise<LastRun | undefined> {
  const { timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
  const occurrences = occurrencesOf(store, election, DEFAULT_RETENTION_MS, "lastRun");
  return noteOf((await occurrences.read(NOTE, { timeoutMs, signal }))?.value);
}

/** Writes that an occurrence was done, unless a later one was. A note that is lost fails nothing. */
export async function noteRun(
  store: OccurrenceStore,
  run: LastRun,
  { candidateId, leftMs }: { readonly candidateId: string; readonly leftMs: number },
): Promise<void> {
  const timeoutMs = Math.min(leftMs * SHARE, DEFAULT_REQUEST_TIMEOUT_MS);
  const { storeClock, minLeaseMs: leaseDurationMs } = store.capabilities;
  const expiry = storeClock ? ("store-clock" as const) : undefined;
  try {
    const before = noteOf((await store.read(NOTE, { timeoutMs, expiry }))?.value);
    if (before && before.scheduledMs > run.scheduledMs) return;
    // A lease that nobody renews or releases: its value stays.
    const outcome = await store.acquire({
      election: NOTE,
      candidateId,
      value: JSON.stringify(run),
      leaseDurationMs,
      renewIntervalMs: leaseDurationMs,
      expiry,
      timeoutMs,
    });
    if (outcome.acquired) store.forget?.(outcome.lease);
  } catch {
    // Its record tells that the occurrence is done; this is for people who want to know it sooner.
  }
}

function noteOf(value: string | undefined): LastRun | undefined {
  if (value === undefined) return undefined;
  const { occurrence, scheduledMs, attempt, doneMs } = JSON.parse(value) as LastRun;
  return { occurrence, scheduledMs, attempt, doneMs };
}
