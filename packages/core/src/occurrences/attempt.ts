import type { TryRunOutcome } from "../election/calls.ts";
import type { Elector } from "../election/elector.ts";
import type { LeadershipOf, LeaderTask } from "../election/leadership.ts";
import { isOutage, type StoreError } from "../reporting/errors.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import { sleep, type Clock } from "../time/clock.ts";

/** The number of times that a store that fails is asked: one lost reply is no outage, and who asks has not much time. */
const TRIES = 2;
/** The wait between the two, where the service asks for none; and the longest, if it asks for more. */
const RETRY_MS = 100;
const RETRY_MAX_MS = 1_000;

export interface AttemptLimits {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** `unavailable`: the store has failed, also the second time. */
export type AttemptOutcome<T> = TryRunOutcome<T> | { readonly elected: false; readonly unavailable: StoreError };

/**
 * Runs the task as leader, if this candidate can lead at once, and gives the leadership up before it settles. Whatever the
 * task throws is thrown, also once its signal has aborted: work that was cut short is not done.
 */
export async function attempt<T, Store extends LeaseStore>(
  elector: Elector<Store>,
  task: LeaderTask<T, LeadershipOf<Store>>,
  { clock, signal }: AttemptLimits,
): Promise<AttemptOutcome<T>> {
  let failure: { readonly error: unknown } | undefined;
  let started = false;
  let outage: StoreError | undefined;
  const run: LeaderTask<T, LeadershipOf<Store>> = async (leadership) => {
    started = true;
    const work = (async () => await task(leadership))();
    const [settled] = await Promise.allSettled([work]);
    if (settled.status === "fulfilled") return settled.value;
    failure = { error: settled.reason as unknown };
    // Not the error itself: the elector would take a signal's own reason for a return.
    throw new Error("The task has failed.");
  };
  for (let tries = 1; ; tries += 1) {
    try {
      return await elector.tryRun(run, { signal });
    } catch (error) {
      if (started) throw failure ? failure.error : error;
      if (isOutage(error)) outage = error;
      // An abort that cuts the second try short does not make the store one that has answered.
      else if (!outage || !signal?.aborted) throw error;
      if (tries === TRIES || signal?.aborted) return { elected: false, unavailable: outage };
      const waitMs = Math.min(Math.max(outage.retryAfterMs ?? 0, RETRY_MS), RETRY_MAX_MS);
      await sleep(clock, waitMs, signal).catch(() => undefined);
    }
  }
}
