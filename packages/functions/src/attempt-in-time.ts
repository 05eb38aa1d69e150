import { Elector, isLeaseholdError, StoreError, type ElectorOptions, type LeaderTask, type LeaseStore } from "@leasehold/core";
import { LeadershipEndedError, type Clock, onAbort } from "@leasehold/core/provider";
import { type LeadershipOf, attempt, type AttemptOutcome, type LatestBegin } from "@leasehold/core/occurrences";

export interface AttemptOptions<Store extends LeaseStore> extends Omit<ElectorOptions<Store>, "clock" | "candidateId"> {
  readonly clock: Clock;
  readonly candidateId: string | undefined;
  /** The time at which the signal aborts, by the monotonic clock. */
  readonly endMs: number;
  readonly signal: AbortSignal | undefined;
  /** The latest time at which the task may begin. */
  readonly latest?: LatestBegin | undefined;
}

/**
 * Runs the task as leader if this invocation can lead at once. Releases the lease before it settles. The task's signal aborts at
 * `endMs`, shortly before the platform ends the invocation.
 */
export async function attemptInTime<T, Store extends LeaseStore>(
  options: AttemptOptions<Store>,
  task: LeaderTask<T, LeadershipOf<Store>>,
): Promise<AttemptOutcome<T>> {
  const { endMs, signal, latest, ...electorOptions } = options;
  const { clock, election } = options;
  const ending = new AbortController();
  const outOfTime = (): void =>
    ending.abort(new LeadershipEndedError(election, term, "out-of-time", "its platform is about to end it."));
  /** Stays 0 until the invocation leads. */
  let term = 0;
  const run: LeaderTask<T, LeadershipOf<Store>> = (leadership) => {
    term = leadership.term;
    return task(leadership);
  };
  const timer = clock.setTimer(outOfTime, endMs - clock.monotonicMs());
  const stopListening = onAbort(signal, (reason) => ending.abort(reason));
  try {
    signal?.throwIfAborted();
    const elector = new Elector<Store>(electorOptions as ElectorOptions<Store>);
    const outcome = await attempt(elector, run, { clock, signal: ending.signal, latest });
    if ("unavailable" in outcome) signal?.throwIfAborted();
    return outcome;
  } catch (error) {
    // The signal aborted at `endMs` before the attempt had an outcome: the store did not answer.
    if (term > 0 || !outOfTimeBefore(error, ending.signal)) throw error;
    return { elected: false, unavailable: undecided(options) };
  } finally {
    timer.cancel();
    stopListening();
  }
}

function outOfTimeBefore(error: unknown, { aborted, reason }: AbortSignal): boolean {
  return aborted && error === reason && isLeaseholdError(error, "LEADERSHIP_ENDED");
}

function undecided({ store, election }: AttemptOptions<LeaseStore>): StoreError {
  const text = `${store.name} did not answer in the time of this invocation: it is unknown who leads '${election}'.`;
  return new StoreError("STORE_TIMEOUT", text, { store: store.name, operation: "get", election, mayHaveBeenApplied: false });
}
