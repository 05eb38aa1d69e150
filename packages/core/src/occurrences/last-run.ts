import { checkStore } from "../election/observer.ts";
import { DEFAULT_REQUEST_TIMEOUT_MS } from "../store/lease-limits.ts";
import type { LeaseStore, OccurrenceStore } from "../store/lease-store.ts";
import { DEFAULT_RETENTION_MS, occurrencesOf } from "./kept-occurrences.ts";

export interface LastRun {
  /** The occurrence's name in the store, such as `nightly@2026-11-20T03:00:00.000Z`. */
  readonly occurrence: string;
  /** The time at which it was due, in milliseconds since the Unix epoch. */
  readonly scheduledMs: number;
  readonly attempt: number;
  /** The time at which it was done, by the clock of the process that did it. */
  readonly doneMs: number;
}

export interface LastRunOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The note's name among the occurrences. No occurrence has this name, because the names of occurrences contain an @. */
const NOTE = "last-run";
/** The share of the time left in an invocation that each request for a note may take. */
const SHARE = 0.1;

/**
 * Reads which occurrence of a schedule was done last, for health checks and alerts, in one request. With `noteLastRun`,
 * `oncePerOccurrence` and schedulers note it under the schedule's name. The gate `oncePerTick` of a function notes it under its
 * election.
 *
 * The note is written after a run. If the store fails then, the note is missing or names an earlier run. The occurrence's own
 * record is the proof. Returns `undefined` if none was done for as long as occurrences are kept.
 *
 * @example
 * ```ts
 * const last = await lastRun(store, "close-the-books");
 * if (!last || Date.now() - last.doneMs > 2 * 3_600_000) await raiseAlarm(last);
 * ```
 * @throws {ConfigurationError} for an invalid name. {UnsupportedError} if the store keeps no occurrences. {StoreError}
 */
export async function lastRun(store: LeaseStore, election: string, options: LastRunOptions = {}): Promise<LastRun | undefined> {
  const { timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
  checkStore(store);
  const occurrences = occurrencesOf(store, election, DEFAULT_RETENTION_MS, "lastRun");
  return noteOf((await occurrences.read(NOTE, { timeoutMs, signal }))?.value);
}

/** Notes that an occurrence was done, unless the note names a later one. Ignores every error. */
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
    // The lease of the note is never renewed or released. Its value stays.
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
    // The occurrence's own record says that it is done. The note only serves `lastRun`.
  }
}

function noteOf(value: string | undefined): LastRun | undefined {
  if (value === undefined) return undefined;
  const { occurrence, scheduledMs, attempt, doneMs } = JSON.parse(value) as LastRun;
  return { occurrence, scheduledMs, attempt, doneMs };
}
