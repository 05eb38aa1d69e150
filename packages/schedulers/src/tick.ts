import { ConfigurationError, type ClaimedLeadership, type LeaseStore, type OccurrenceOutcome } from "@leasehold/core";
import { type Clock, checkSignal, isStoreError, onAbort, sharedClock } from "@leasehold/core/provider";
import {
  type OccurrenceTask,
  type ScheduleOptions,
  type CatchUp,
  checkCatchUp,
  checkScheduledAt,
  checkSchedule,
  DEFAULT_RETENTION_MS,
  doOccurrence,
  earlierOccurrences,
} from "@leasehold/core/occurrences";

/**
 * The rule by which missed ticks are done later. `previous` returns the time at which the tick before another one was due.
 * node-cron and node-schedule need this function. The other schedulers know that time.
 */
export type TickCatchUp = Omit<CatchUp, "previous"> & Partial<Pick<CatchUp, "previous">>;

/**
 * The options of a job whose ticks are done once each. A host that finds a tick in progress waits for its end. The waiting host
 * does the tick if the other host fails or dies, because a scheduler does not deliver again. `whenInProgress: 'return'` leaves
 * the tick to the other host.
 */
export interface TickOptions<Store extends LeaseStore = LeaseStore> extends ScheduleOptions<Store> {
  /**
   * Aborts when this process has to stop: pass a signal that the process aborts on SIGTERM. The abort ends a wait, and aborts the
   * signal of a running task. No tick begins after the abort.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Does missed ticks later: those that no host has done, for instance after an outage of all hosts or of the store. They follow
   * the next tick on this host, one after the other, the oldest first. Each is done once, on any host. The first tick of a
   * process reads `atMost` earlier ones, and a later tick only those that this process does not know to be over. `startWithinMs`
   * does not limit them. The promise of that next tick settles after them, and rejects with their errors as well.
   * @defaultValue none: missed ticks stay missed
   */
  readonly catchUp?: TickCatchUp | undefined;
}

/** Returns the time at which the tick before another one was due. -Infinity if there was none. */
export type PreviousTick = (scheduledMs: number) => number;

/** The outcome of a tick on this host. `stopped`: the signal had aborted, or the ticks were closed, before the task began. */
export type TickOutcome<T> = OccurrenceOutcome<T> | { readonly ran: false; readonly reason: "stopped" };

/** The ticks of a job on this host. They can be closed. */
export interface Closable {
  /**
   * Takes no further ticks. Ends the waits for ticks of other hosts, and the waits between two tries. Resolves once the running
   * jobs have settled. The signals of running jobs do not abort. To abort them, abort the `signal` of the options. Close the
   * store once this promise has resolved.
   */
  close(): Promise<void>;
}

const STOPPED = { ran: false, reason: "stopped" } as const;
/** The reasons of a tick that may still be done. An administrator may reopen one that failed, or was skipped during a pause. */
const OPEN: ReadonlySet<string> = new Set(["in-progress", "missed", "stopped", "failed", "paused"]);

/** The error of a tick that another scheduler than the adapter's own has called. */
export function notFrom(scheduler: string, name: string): ConfigurationError {
  return new ConfigurationError(
    `A tick of '${name}' did not come from ${scheduler}. Import oncePerTick from the entry of your own scheduler.`,
  );
}

/** Does the ticks of one job. */
export class Ticks<Store extends LeaseStore> implements Closable {
  readonly #schedule: ScheduleOptions<Store>;
  readonly #signal: AbortSignal | undefined;
  readonly #clock: Clock;
  readonly #catchUp: TickCatchUp | undefined;
  /** The ticks that no host does again, as far as this process knows, and as far back as `catchUp` goes. */
  #over = new Set<number>();
  /** The ticks that are running. Each has a controller that ends its waits, before its task and between two tries. */
  readonly #underWay = new Map<Promise<unknown>, AbortController>();
  #isClosed = false;

  /**
   * @param knowsPrevious true if `run` is called with the time of the tick before.
   * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, before any tick.
   */
  constructor(whose: string, options: TickOptions<Store>, knowsPrevious = false) {
    const { signal, catchUp, ...schedule } = (options ?? {}) as TickOptions<Store>;
    checkSchedule(whose, schedule);
    if (catchUp !== undefined) checkCatchUp({ ...(knowsPrevious ? { previous: Number } : {}), ...catchUp } as CatchUp);
    this.#catchUp = catchUp;
    checkSignal(whose, signal, schedule.name);
    this.#schedule = { ...schedule, whenInProgress: schedule.whenInProgress ?? "wait" };
    this.#signal = signal;
    this.#clock = sharedClock(schedule.store, schedule.clock);
  }

  /**
   * Does one tick, and then the earlier ones that `catchUp` asks for. `scheduledAt` is the time at which the tick was due, by its
   * schedule.
   * @throws the error of its task, or an AggregateError if several ticks have failed.
   */
  async run<T>(scheduledAt: Date | number, task: OccurrenceTask<T, Store>, previous?: PreviousTick): Promise<TickOutcome<T>> {
    if (this.#isStopped) return STOPPED;
    const { retentionMs } = this.#schedule;
    const scheduledMs = checkScheduledAt(scheduledAt, this.#clock.wallMs(), retentionMs);
    if (!this.#catchUp) return await this.#closably((waiting) => this.#run(this.#schedule, scheduledMs, task, waiting));
    const failures: unknown[] = [];
    const outcome = await this.#doUnlessOver(this.#schedule, scheduledMs, task, failures);
    await this.#catchUpTo(scheduledMs, task, previous, failures);
    throwAll(this.#schedule.name, failures);
    return outcome ?? STOPPED;
  }

  /** Does the ticks before a time, if no host has done them, as `catchUp` asks for. @throws as `run` does. */
  async catchUpTo(beforeMs: number, task: OccurrenceTask<unknown, Store>, previous?: PreviousTick): Promise<void> {
    const failures: unknown[] = [];
    await this.#catchUpTo(beforeMs, task, previous, failures);
    throwAll(this.#schedule.name, failures);
  }

  get #isStopped(): boolean {
    return this.#isClosed || this.#signal?.aborted === true;
  }

  async #catchUpTo(
    beforeMs: number,
    task: OccurrenceTask<unknown, Store>,
    derived: PreviousTick | undefined,
    failures: unknown[],
  ): Promise<void> {
    if (!this.#catchUp) return;
    const { startWithinMs: _, ...schedule } = this.#schedule;
    const { name, retentionMs = DEFAULT_RETENTION_MS } = schedule;
    const catchUp = { previous: derived, ...this.#catchUp } as CatchUp;
    const earlier = earlierOccurrences({ name, scheduledMs: beforeMs }, catchUp, retentionMs, this.#clock.wallMs());
    const oldestMs = earlier[0]?.scheduledMs ?? beforeMs;
    this.#over = new Set([...this.#over].filter((ms) => ms >= oldestMs));
    for (const { scheduledMs } of earlier) {
      // While the store does not answer, the next tick tries again.
      if (this.#isStopped || failures.some(isStoreError)) return;
      await this.#doUnlessOver({ ...schedule, whenInProgress: "return" }, scheduledMs, task, failures);
    }
  }

  /** Does a tick, unless this process knows that it is over. Adds an error to `failures`. */
  async #doUnlessOver<T>(
    schedule: ScheduleOptions<Store>,
    scheduledMs: number,
    task: OccurrenceTask<T, Store>,
    failures: unknown[],
  ): Promise<TickOutcome<T> | undefined> {
    if (this.#over.has(scheduledMs)) return { ran: false, reason: "done" };
    try {
      const outcome = await this.#closably((waiting) => this.#run(schedule, scheduledMs, task, waiting));
      // Without `startWithinMs`, as for a catch-up, a missed tick is one that the store has recorded as missed.
      const isMissed = !outcome.ran && outcome.reason === "missed" && schedule.startWithinMs === undefined;
      if (outcome.ran || isMissed || !OPEN.has(outcome.reason)) this.#over.add(scheduledMs);
      return outcome;
    } catch (error) {
      failures.push(error);
      return undefined;
    }
  }

  /** Runs a tick so that `close` waits for it, and can end its waits. */
  async #closably<T>(run: (waiting: AbortController) => Promise<T>): Promise<T> {
    const waiting = new AbortController();
    const tick = run(waiting);
    this.#underWay.set(tick, waiting);
    try {
      return await tick;
    } finally {
      this.#underWay.delete(tick);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const waiting of this.#underWay.values()) waiting.abort();
    await Promise.allSettled(this.#underWay.keys());
  }

  async #run<T>(
    schedule: ScheduleOptions<Store>,
    scheduledMs: number,
    task: OccurrenceTask<T, Store>,
    waiting: AbortController,
  ): Promise<TickOutcome<T>> {
    const ending = new AbortController();
    let isWorking = false;
    let failure: unknown;
    // Ends the wait, unless a try is running. The tick then rejects with the last error of its tries, if there was one.
    const endWait = (): void => {
      if (!isWorking) ending.abort(failure);
    };
    const stopListening = onAbort(this.#signal, (reason) => ending.abort(reason));
    onAbort(waiting.signal, endWait);
    let begun = false;
    const run = async (leadership: ClaimedLeadership<Store>): Promise<T> => {
      begun = true;
      isWorking = true;
      try {
        return await task(leadership);
      } catch (error) {
        isWorking = false;
        failure = error;
        // A failure of the last try is recorded before an abort could leave the occurrence open.
        if (waiting.signal.aborted) this.#clock.setTimer(endWait, 0);
        throw error;
      }
    };
    try {
      return await doOccurrence<T, Store>({ schedule, scheduledMs }, run, { signal: ending.signal });
    } catch (error) {
      if (ending.signal.aborted && !begun) return STOPPED;
      throw error;
    } finally {
      stopListening();
    }
  }
}

/** @throws the error of the ticks, if there is any. */
function throwAll(name: string, failures: readonly unknown[]): void {
  if (failures.length > 1) throw new AggregateError(failures, `${failures.length} ticks of '${name}' failed.`);
  if (failures.length > 0) throw failures[0];
}

/** @throws {ConfigurationError} unless the job is a function. */
export function checkJob(whose: string, job: unknown): void {
  if (typeof job !== "function") throw new ConfigurationError(`${whose} needs a job: a function that takes the leadership.`);
}
