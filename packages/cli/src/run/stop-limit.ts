import type { Clock } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { StopRequest } from "./stop-signals.ts";

/** `docker stop` and its kin kill after ten seconds. By then this process has closed its store and written its last words. */
const STOP_MS = 8_500;
/** The least and the most that a store is waited for once nothing runs any more. */
const LEAST_MS = 500;
const MOST_MS = 4_000;
/** The most for a candidate that has not led: it has nothing to release, unless it wins in this very moment. */
export const CANDIDATE_MS = 2_000;

export interface StopLimit {
  /** Aborts, with a {@link StopRequest}, once this process is asked to stop. */
  readonly stopped: AbortSignal;
  readonly clock: Clock;
  /** The most that a store is waited for. */
  readonly mostMs?: number;
  /** Settles once nothing of a command runs any more. @defaultValue nothing does */
  readonly idle?: () => Promise<unknown>;
}

/**
 * Waits for a store, but not for ever once this process is asked to stop. Resolves with undefined where that takes too long: what
 * the store does then is of no harm, since nothing runs. A lease that is not released runs out.
 */
export async function waitUnlessStopped<T>(work: Promise<T>, limit: StopLimit): Promise<T | undefined> {
  // Its failure is told to whoever waits for it, if somebody does.
  work.catch(() => undefined);
  const settled = new AbortController();
  const gaveUp = giveUp(limit, settled.signal).catch(async () => await new Promise<never>(() => {}));
  try {
    return await Promise.race([work, gaveUp]);
  } finally {
    settled.abort();
  }
}

/** Resolves once the time is up. @throws once it is settled. */
async function giveUp({ stopped, clock, mostMs = MOST_MS, idle }: StopLimit, settled: AbortSignal): Promise<undefined> {
  await aborted(AbortSignal.any([stopped, settled]));
  await idle?.();
  const nowMs = clock.monotonicMs();
  const atMs = stopped.reason instanceof StopRequest ? stopped.reason.atMs : nowMs;
  await sleep(clock, Math.min(mostMs, Math.max(LEAST_MS, atMs + STOP_MS - nowMs)), settled);
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
