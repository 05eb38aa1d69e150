import { type Clock, onAbort, sleep } from "@leasehold/core/provider";
import { StopRequest } from "./stop-signals.ts";

/**
 * `docker stop` and similar tools kill after 10 s. The time until then is for closing the store and writing the last messages.
 */
const STOP_MS = 8_500;
/** The shortest and the longest wait for a store once no command runs any more. */
const LEAST_MS = 500;
const MOST_MS = 4_000;
/** The longest wait for a candidate that has not led. It has nothing to release, unless it wins at this very moment. */
export const CANDIDATE_MS = 2_000;

export interface StopLimit {
  /** Aborts, with a {@link StopRequest}, once this process is asked to stop. */
  readonly stopped: AbortSignal;
  readonly clock: Clock;
  /** The longest wait for a store. */
  readonly mostMs?: number;
  /** Settles once no process of a command runs any more. @defaultValue no command runs */
  readonly idle?: () => Promise<unknown>;
}

/**
 * Waits for a store, but only for a limited time once this process is asked to stop. Resolves with undefined after this time. The
 * store's work does no harm then, because no command runs. A lease that is not released expires.
 */
export async function waitUnlessStopped<T>(work: Promise<T>, limit: StopLimit): Promise<T | undefined> {
  // Prevents an unhandled rejection if `work` fails after this wait has ended.
  work.catch(() => undefined);
  const settled = new AbortController();
  const gaveUp = giveUp(limit, settled.signal).catch(async () => await new Promise<never>(() => {}));
  try {
    return await Promise.race([work, gaveUp]);
  } finally {
    settled.abort();
  }
}

/** Resolves once the time is up. @throws once `settled` aborts. */
async function giveUp({ stopped, clock, mostMs = MOST_MS, idle }: StopLimit, settled: AbortSignal): Promise<undefined> {
  await aborted(AbortSignal.any([stopped, settled]));
  await idle?.();
  const nowMs = clock.monotonicMs();
  const atMs = stopped.reason instanceof StopRequest ? stopped.reason.atMs : nowMs;
  await sleep(clock, Math.min(mostMs, Math.max(LEAST_MS, atMs + STOP_MS - nowMs)), settled);
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => void onAbort(signal, () => resolve()));
}
