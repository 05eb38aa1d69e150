import type { TryRunOutcome } from "../election/calls.ts";
import type { Elector } from "../election/elector.ts";
import type { LeadershipOf, LeaderTask } from "../election/leadership.ts";
import { isOutage, type StoreError } from "../reporting/errors.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import { sleep, type Clock } from "../time/clock.ts";

/** The number of tries if the store fails. One lost reply is no outage, and the caller has no time for more. */
const TRIES = 2;
/** The wait between the two tries where the service asks for no other, and the longest that it may ask for. In milliseconds. */
const RETRY_MS = 100;
const RETRY_MAX_MS = 1_000;

export interface AttemptLimits {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** `unavailable`: the store has failed, also at the second try. */
export type AttemptOutcome<T> = TryRunOutcome<T> | { readonly elected: false; readonly unavailable: StoreError };

/**
 * Runs the task as leader, if this candidate can lead at once. Gives the leadership up before it settles. Rejects with every
 * error of the task, also once the signal has aborted, because work that was cut short is not done.
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
    // Not the error itself: the elector would treat a signal's own reason like a return.
    throw new Error("The task has failed.");
  };
  for (let tries = 1; ; tries += 1) {
    try {
      return await elector.tryRun(run, { signal });
    } catch (error) {
      if (started) throw failure ? failure.error : error;
      if (isOutage(error)) outage = error;
      // If an abort cuts the second try short, the store has still not answered.
      else if (!outage || !signal?.aborted) throw error;
      if (tries === TRIES || signal?.aborted) return { elected: false, unavailable: outage };
      const waitMs = Math.min(Math.max(outage.retryAfterMs ?? 0, RETRY_MS), RETRY_MAX_MS);
      await sleep(clock, waitMs, signal).catch(() => undefined);
    }
  }
}
