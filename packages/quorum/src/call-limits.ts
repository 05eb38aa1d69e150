import { type Clock, onAbort, sleep } from "@leasehold/core/provider";
import { CONNECT_TIMEOUT_MS } from "./overdue-reads.ts";

/** The most round trips of one call. Each round trip may take an equal part of the call's time: a quarter. */
export const ROUND_TRIPS = 4;
/** The time limit of a request in each attempt of a call that is repeated. A request may be lost, and a member may be slow. */
const REPEATED_REQUEST_MS = [500, 500, CONNECT_TIMEOUT_MS] as const;
/** The pauses after the first attempts, in milliseconds. Later pauses are as long as the last one. */
const REPEATED_PAUSES_MS = [200, 400, 1_000] as const;

/** Limits of one call. */
export interface CallLimits {
  readonly signal: AbortSignal;
  /** The end of the call, by the monotonic clock. */
  readonly untilMs: number;
  /** The time that each member has for each request, in milliseconds. */
  readonly memberMs: number;
}

/** Returns the limits of a call that may take `timeoutMs` in all. */
export function callLimits(clock: Clock, signal: AbortSignal, timeoutMs: number): CallLimits {
  return { signal, untilMs: clock.monotonicMs() + timeoutMs, memberMs: timeoutMs / ROUND_TRIPS };
}

/** Waits for some work for as long as the call may take. The work continues afterwards. @throws the result of `late`. */
export async function withinCall<T>(clock: Clock, limits: CallLimits, work: Promise<T>, late: () => Error): Promise<T> {
  const over = Promise.withResolvers<never>();
  const timer = clock.setTimer(() => over.reject(late()), limits.untilMs - clock.monotonicMs());
  const stopListening = onAbort(limits.signal, over.reject);
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    timer.cancel();
    stopListening();
  }
}

/** Repeats some work until it succeeds, because one of its many requests may be lost. @throws the last error, after `untilMs`. */
export async function repeatCall(
  clock: Clock,
  untilMs: number,
  mayRepeat: (error: unknown) => boolean,
  work: (limits: CallLimits) => Promise<void>,
): Promise<void> {
  const { signal } = new AbortController();
  for (let times = 0; ; times += 1) {
    const memberMs = REPEATED_REQUEST_MS[times % REPEATED_REQUEST_MS.length] as number;
    const pauseMs = REPEATED_PAUSES_MS[Math.min(times, REPEATED_PAUSES_MS.length - 1)] as number;
    try {
      return await work({ signal, untilMs, memberMs });
    } catch (error) {
      if (clock.monotonicMs() >= untilMs || !mayRepeat(error)) throw error;
    }
    await sleep(clock, pauseMs * (0.5 + clock.random()));
  }
}
