import {
  Elector,
  isLeaseholdError,
  LeadershipEndedError,
  StoreError,
  type Clock,
  type ElectorOptions,
  type LeadershipOf,
  type LeaderTask,
  type LeaseStore,
  type TryRunOutcome,
} from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";

/** The number of times that a delivery asks a store that fails: one lost reply is no outage, and the time of an invocation is short. */
const TRIES = 2;
/** The wait between the two, where the service asks for none; and the longest, if it asks for more. */
const RETRY_MS = 100;
const RETRY_MAX_MS = 1_000;

export interface AttemptOptions<Store extends LeaseStore> extends Omit<ElectorOptions<Store>, "clock" | "candidateId"> {
  readonly clock: Clock;
  readonly candidateId: string | undefined;
  /** The instant at which the signal aborts, by the monotonic clock. */
  readonly endMs: number;
  readonly signal: AbortSignal | undefined;
}

export type AttemptOutcome<T> = TryRunOutcome<T> | { readonly elected: false; readonly unavailable: Error };

/**
 * Runs the task as leader, if this invocation can lead at once, and gives the leadership up before it settles. Whatever
 * the task throws is thrown, also once its signal has aborted: work that was cut short is not done.
 */
export async function attempt<T, Store extends LeaseStore>(
  options: AttemptOptions<Store>,
  task: LeaderTask<T, LeadershipOf<Store>>,
): Promise<AttemptOutcome<T>> {
  const { endMs, signal, ...electorOptions } = options;
  const { clock, election } = options;
  const ending = new AbortController();
  const outOfTime = (): void =>
    ending.abort(new LeadershipEndedError(election, term, "out-of-time", "its platform is about to end it."));
  const onAbort = (): void => ending.abort(signal?.reason);
  let term = 0;
  let failure: { readonly error: unknown } | undefined;
  let started = false;
  let outage: Error | undefined;
  const run: LeaderTask<T, LeadershipOf<Store>> = async (leadership) => {
    started = true;
    term = leadership.term;
    try {
      return await task(leadership);
    } catch (error) {
      failure = { error };
      throw error;
    }
  };
  const timer = clock.setTimer(outOfTime, Math.max(endMs - clock.monotonicMs(), 0));
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    signal?.throwIfAborted();
    for (let tries = 1; ; tries += 1) {
      try {
        const outcome = await new Elector(electorOptions as ElectorOptions<Store>).tryRun(run, { signal: ending.signal });
        if (failure) throw failure.error;
        return outcome as TryRunOutcome<T>;
      } catch (error) {
        if (started || !isOutage(error)) throw error;
        outage = error;
        const waitMs = Math.min(Math.max(error.retryAfterMs ?? 0, RETRY_MS), RETRY_MAX_MS);
        if (tries === TRIES) return { elected: false, unavailable: error };
        await sleep(clock, waitMs, ending.signal);
      }
    }
  } catch (error) {
    // Its time was over before anything was decided: the store has not answered.
    if (started || !outOfTimeBefore(error, ending.signal)) throw error;
    return { elected: false, unavailable: outage ?? undecided(options) };
  } finally {
    timer.cancel();
    signal?.removeEventListener("abort", onAbort);
  }
}

function outOfTimeBefore(error: unknown, { aborted, reason }: AbortSignal): boolean {
  return aborted && error === reason && isLeaseholdError(error, "LEADERSHIP_ENDED");
}

function undecided({ store, election }: AttemptOptions<LeaseStore>): StoreError {
  const text = `${store.name} did not answer in the time of this invocation: nobody knows who leads '${election}'.`;
  return new StoreError("STORE_TIMEOUT", text, { store: store.name, operation: "get", election, mayHaveBeenApplied: false });
}

/** Reports whether the store may be back later: a passing failure, and no mistake in the configuration. */
function isOutage(error: unknown): error is StoreError {
  return (["STORE_TIMEOUT", "STORE_THROTTLED", "STORE_UNAVAILABLE", "STORE_CONFLICT"] as const).some((code) =>
    isLeaseholdError(error, code),
  );
}
