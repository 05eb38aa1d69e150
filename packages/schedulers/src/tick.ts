import {
  ConfigurationError,
  type ClaimedLeadership,
  type LeaseStore,
  type OccurrenceOutcome,
  type OccurrenceTask,
  type ScheduleOptions,
} from "@leasehold/core";
import { type Clock, checkScheduledAt, checkSchedule, checkSignal, doOccurrence, sharedClock } from "@leasehold/core/provider";

/**
 * The options of a job whose ticks are done once each. A host that finds a tick in progress waits for its end. It does the tick if
 * the other host fails or dies, because a scheduler does not deliver again. `whenInProgress: 'return'` leaves the tick to the other
 * host.
 */
export interface TickOptions<Store extends LeaseStore = LeaseStore> extends ScheduleOptions<Store> {
  /**
   * Aborts when this process has to stop: pass a signal that the process aborts on SIGTERM. It ends a wait and aborts the signal
   * of a task that works. No tick begins after it.
   */
  readonly signal?: AbortSignal | undefined;
}

/** The outcome of a tick on this host. `stopped`: the signal had aborted, or the ticks were closed, before the task began. */
export type TickOutcome<T> = OccurrenceOutcome<T> | { readonly ran: false; readonly reason: "stopped" };

/** The ticks of a job on this host. They can be closed. */
export interface Closable {
  /**
   * Takes no further ticks, ends the waits for those of other hosts and between two tries, and resolves once the running jobs have
   * settled. The signals of running jobs do not abort. To abort them, abort the `signal` of the options. Close the store after that.
   */
  close(): Promise<void>;
}

const STOPPED = { ran: false, reason: "stopped" } as const;

/** Does the ticks of one job. */
export class Ticks<Store extends LeaseStore> implements Closable {
  readonly #schedule: ScheduleOptions<Store>;
  readonly #signal: AbortSignal | undefined;
  readonly #clock: Clock;
  /** The ticks that are running. Each has a controller that ends its waits, before its task and between two tries. */
  readonly #underWay = new Map<Promise<unknown>, AbortController>();
  #isClosed = false;

  /** @throws {ConfigurationError} {UnsupportedError} for options that cannot work, before any tick. */
  constructor(whose: string, options: TickOptions<Store>) {
    const { signal, ...schedule } = (options ?? {}) as TickOptions<Store>;
    checkSchedule(whose, schedule);
    checkSignal(whose, signal, schedule.name);
    this.#schedule = { ...schedule, whenInProgress: schedule.whenInProgress ?? "wait" };
    this.#signal = signal;
    this.#clock = sharedClock(schedule.store, schedule.clock);
  }

  /** Does one tick. `scheduledAt` is the time at which it was due, by its schedule. */
  async run<T>(scheduledAt: Date | number, task: OccurrenceTask<T, Store>): Promise<TickOutcome<T>> {
    if (this.#isClosed || this.#signal?.aborted) return STOPPED;
    const { retentionMs } = this.#schedule;
    const scheduledMs = checkScheduledAt({ scheduledAt, retentionMs }, this.#clock.wallMs());
    const waiting = new AbortController();
    const tick = this.#run(scheduledMs, task, waiting);
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

  async #run<T>(scheduledMs: number, task: OccurrenceTask<T, Store>, waiting: AbortController): Promise<TickOutcome<T>> {
    const ending = new AbortController();
    const stop = (): void => ending.abort(this.#signal?.reason);
    let isWorking = false;
    let failure: unknown;
    // The call then rejects with the last error of its task, if there was one.
    const endWait = (): void => {
      if (!isWorking) ending.abort(failure);
    };
    this.#signal?.addEventListener("abort", stop, { once: true });
    waiting.signal.addEventListener("abort", endWait, { once: true });
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
      return await doOccurrence<T, Store>({ schedule: this.#schedule, scheduledMs }, run, { signal: ending.signal });
    } catch (error) {
      if (ending.signal.aborted && !begun) return STOPPED;
      throw error;
    } finally {
      this.#signal?.removeEventListener("abort", stop);
    }
  }
}

/** @throws {ConfigurationError} unless the job is a function. */
export function checkJob(whose: string, job: unknown): void {
  if (typeof job !== "function") throw new ConfigurationError(`${whose} needs a job: a function that takes the leadership.`);
}
