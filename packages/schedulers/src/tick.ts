import {
  ConfigurationError,
  type ClaimedLeadership,
  type LeaseStore,
  type OccurrenceOutcome,
  type OccurrenceTask,
  type ScheduleOptions,
} from "@leasehold/core";
import { checkScheduledAt, checkSchedule, checkSignal, doOccurrence, sharedClock } from "@leasehold/core/provider";

/**
 * The options of a job whose ticks are done once each. A host that finds a tick in progress waits for its end, and does it
 * should the other fail or die: a scheduler does not deliver again. `whenInProgress: 'return'` leaves it to the other.
 */
export interface TickOptions<Store extends LeaseStore = LeaseStore> extends ScheduleOptions<Store> {
  /**
   * Aborts when this process is to stop: pass what it aborts on SIGTERM. It ends a wait, aborts the signal of a task that works,
   * and no tick begins after it.
   */
  readonly signal?: AbortSignal | undefined;
}

/** What became of a tick on this host. `stopped`: the signal had aborted before it began. */
export type TickOutcome<T> = OccurrenceOutcome<T> | { readonly ran: false; readonly reason: "stopped" };

/** Does one tick: given when it was due, by its schedule. */
export type Tick<Store> = <T>(scheduledAt: Date | number, task: OccurrenceTask<T, Store>) => Promise<TickOutcome<T>>;

/**
 * Returns what does the ticks of one job.
 * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, before any tick.
 */
export function ticksOf<Store extends LeaseStore>(whose: string, options: TickOptions<Store>): Tick<Store> {
  const { signal, ...schedule } = (options ?? {}) as TickOptions<Store>;
  checkSchedule(whose, schedule);
  checkSignal(whose, signal, schedule.name);
  const waiting = { ...schedule, whenInProgress: schedule.whenInProgress ?? "wait" };
  const clock = sharedClock(schedule.store, schedule.clock);
  const { retentionMs } = schedule;
  return async <T>(scheduledAt: Date | number, task: OccurrenceTask<T, Store>): Promise<TickOutcome<T>> => {
    let begun = false;
    const run = (leadership: ClaimedLeadership<Store>): Promise<T> | T => {
      begun = true;
      return task(leadership);
    };
    if (signal?.aborted) return { ran: false, reason: "stopped" };
    const scheduledMs = checkScheduledAt({ scheduledAt, retentionMs }, clock.wallMs());
    try {
      return await doOccurrence<T, Store>({ schedule: waiting, scheduledMs }, run, { signal });
    } catch (error) {
      if (signal?.aborted && !begun) return { ran: false, reason: "stopped" };
      throw error;
    }
  };
}

/** @throws {ConfigurationError} unless the job is a function. */
export function checkJob(whose: string, job: unknown): void {
  if (typeof job !== "function") throw new ConfigurationError(`${whose} needs a job: a function that takes the leadership.`);
}
