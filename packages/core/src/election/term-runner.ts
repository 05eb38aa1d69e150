import type { Lease, LeaseStore } from "../store/lease-store.ts";
import { isLeaseholdError, isStoreFailure, type LeaseLostError } from "../reporting/errors.ts";
import type { Journal } from "../reporting/journal.ts";
import type { Clock } from "../time/clock.ts";
import type { Announcements } from "./announcements.ts";
import type { ElectorOptions } from "./elector-options.ts";
import { callTask, isInsideTask } from "./inside-task.ts";
import type { Leadership, LeaderTask } from "./leadership.ts";
import type { StandingBack } from "./standing-back.ts";
import type { StoreContact } from "./store-contact.ts";
import { countsAsReturn } from "./task-outcome.ts";
import { LeaderTerm, type LeaderTermHooks } from "./leader-term.ts";
import type { Timing } from "./timing.ts";

/** The exit code of a process that `onOverrun: 'exit'` ends: EX_SOFTWARE of sysexits.h. */
export const OVERRUN_EXIT_CODE = 70;

/** The time for a task to return that has called `stop` and has not awaited it. */
const INSIDE_GRACE_MS = 100;

export interface TermRunnerOptions {
  readonly clock: Clock;
  readonly store: LeaseStore;
  readonly contact: StoreContact;
  readonly timing: Timing;
  readonly wishes: Pick<
    ElectorOptions,
    "value" | "releaseOnStop" | "renewal" | "minimumHoldMs" | "releaseTimeoutMs" | "onOverrun"
  >;
  readonly announcements: Announcements;
  readonly journal: Journal;
  readonly standingBack: StandingBack;
}

/** The result of a task, or `undefined` where it was stopped by its signal and said so by rejecting. */
export interface TaskResult<T> {
  readonly result: T | undefined;
}

/** The terms of one elector, of which there is never more than one at a time. */
export class TermRunner<Led extends Leadership> implements LeaderTermHooks {
  readonly #options: TermRunnerOptions;
  #term: LeaderTerm<Led> | undefined;
  #stopListening: (() => void) | undefined;

  constructor(options: TermRunnerOptions) {
    this.#options = options;
  }

  /** The present term, until its work has settled and its lease is given up. */
  get term(): LeaderTerm<Led> | undefined {
    return this.#term;
  }

  /**
   * Runs the task for one term. Settles once the task has and the lease is given up, or when a stop has waited long enough.
   * Returns `undefined` where the term was over, or ending, before the task could be called; then it is not.
   */
  async run<T>(lease: Lease, task: LeaderTask<T, Led>, signal: AbortSignal): Promise<TaskResult<T> | undefined> {
    const term = this.#begin(lease, signal);
    const work = this.#work(term, task);
    void term.finish(work);
    await term.settled;
    return await work;
  }

  /** Starts a term whose work is over once its leadership is disposed of. */
  start(lease: Lease, signal: AbortSignal): LeaderTerm<Led> {
    const term = this.#begin(lease, signal);
    void term.finish(term.disposed);
    return term;
  }

  /** Warns soon of a call that waits for the task, and that the task itself has made, unless it did not await that. */
  warnIfInside(call: "stop" | "resign"): void {
    const term = this.#term;
    if (!term || !isInsideTask(this)) return;
    const { clock, journal } = this.#options;
    const { election } = term.leadership;
    const text = `${call}() was called inside of the task of '${election}' (term ${term.term}), which is still pending. If the task awaits ${call}(), it waits for itself: let it return instead, or call ${call}() without await.`;
    const warn = (): void => journal.warn("LEASEHOLD_WAITS_FOR_ITSELF", "warn", text, { election, term: term.term });
    const timer = clock.setTimer(warn, INSIDE_GRACE_MS);
    void term.finished.then(() => timer.cancel());
  }

  /** What the task's rejection means is decided at that moment: the term's own end aborts the signal, too. */
  async #work<T>(term: LeaderTerm<Led>, task: LeaderTask<T, Led>): Promise<TaskResult<T> | undefined> {
    const { leadership } = term;
    try {
      return term.mayWork ? { result: await callTask(this, () => task(leadership)) } : undefined;
    } catch (error) {
      if (!countsAsReturn(error, leadership.signal)) throw error;
      return { result: undefined };
    }
  }

  /** Starts a term, and tells of it. It is stopped with the signal, until it has finished. */
  #begin(lease: Lease, signal: AbortSignal): LeaderTerm<Led> {
    const led = this.#makeTerm(lease);
    const { announcements, wishes } = this.#options;
    const { term } = led;
    this.#term = led;
    announcements.setState({ state: "leading", term });
    led.start();
    const { candidateId } = led.leadership;
    const { value } = wishes;
    announcements.setLeader({ candidateId, term, state: "held", ...(value === undefined ? {} : { value }) });
    announcements.emit("startedLeading", { term });
    const stop = (): void => led.stop(signal.reason as Error);
    this.#stopListening = () => signal.removeEventListener("abort", stop);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    return led;
  }

  #makeTerm(lease: Lease): LeaderTerm<Led> {
    const { clock, store, timing, wishes } = this.#options;
    return new LeaderTerm<Led>({
      clock,
      store,
      lease,
      timing,
      releaseOnStop: wishes.releaseOnStop ?? true,
      renewal: wishes.renewal ?? "scheduled",
      minimumHoldMs: wishes.minimumHoldMs ?? 0,
      releaseTimeoutMs: wishes.releaseTimeoutMs ?? timing.attemptTimeoutMs,
      hooks: this,
    });
  }

  renewed({ term }: Lease): void {
    const { announcements, contact } = this.#options;
    contact.answered("write");
    announcements.emit("renewed", { term });
  }

  renewFailed({ term }: Lease, error: unknown): void {
    const { announcements, contact, journal, timing } = this.#options;
    if (isStoreFailure(error)) {
      contact.failed("write", error);
      contact.report({ journal, leaseDurationMs: timing.leaseDurationMs });
    }
    announcements.emit("renewFailed", { term, error });
  }

  releaseFailed({ term }: Lease, error: unknown): void {
    this.#options.announcements.emit("releaseFailed", { term, error });
  }

  ending({ term }: Lease, reason: Error): void {
    const { announcements } = this.#options;
    announcements.setState({ state: "ending", term, reason });
    announcements.emit("ending", { term, reason });
  }

  finished({ term }: Lease, reason: Error | undefined, released: boolean): void {
    const { announcements, standingBack } = this.#options;
    this.#term = undefined;
    this.#stopListening?.();
    standingBack.ended(term, hasGivenUp(reason, released));
    if (announcements.leader?.term === term) announcements.setLeader(undefined);
    announcements.emit("stoppedLeading", { term, reason, released });
  }

  overrun({ election, term }: Lease, sinceSignalMs: number): void {
    const { announcements, journal, wishes } = this.#options;
    announcements.emit("overrun", { term, sinceSignalMs });
    if (wishes.onOverrun !== "exit") return;
    const message = `leasehold: the task leading '${election}' (term ${term}) is still pending ${Math.round(sinceSignalMs)} ms after its signal aborted; ending this process (onOverrun: 'exit').\n`;
    // A process warning would come too late.
    if (!journal.isSilent) process.stderr.write(message);
    process.exit(OVERRUN_EXIT_CODE);
  }
}

/** A broken term that was released early was given up, too: else its own leader would be the first to acquire again. */
function hasGivenUp(reason: Error | undefined, released: boolean): boolean {
  if (!isLeaseholdError(reason, "LEASE_LOST")) return true;
  return (reason as LeaseLostError).reason === "broken" && released;
}
