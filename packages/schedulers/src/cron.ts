import { ConfigurationError, type ClaimedLeadership, type LeaseStore } from "@leasehold/core";
import type { CronJob } from "cron";
import { dueOf, previousDueOf } from "./due-by-cron.ts";
import { checkJob, Ticks, type Closable, type TickOptions } from "./tick.ts";

export type { Closable, TickCatchUp, TickOptions } from "./tick.ts";

/**
 * Wraps a job for `cron`, as its `onTick`, so that each tick is done once. Any number of hosts may schedule it, with any
 * difference of their clocks.
 *
 * cron does not pass the time at which a tick was due. This package derives it from the job's schedule: the last time at or
 * before the time at which this host's timer fired. Hosts with the same schedule and time zone derive the same time. Set
 * `timeZone`, because otherwise two hosts that are configured differently have two schedules.
 *
 * If a tick fires so late that the next one was due by then, it counts as that next one. `runOnInit` counts as the last tick
 * before the start, and runs the job unless that tick is done. `job.fireOnTick()` by hand counts as the tick that fired last. To
 * run the job by hand, call your own function. The guarantees are those of `oncePerOccurrence`.
 *
 * @example
 * ```ts
 * CronJob.from({
 *   cronTime: "0 3 * * *",
 *   timeZone: "Etc/UTC",
 *   onTick: oncePerTick({ store, name: "close-the-books" }, (leadership) => closeTheBooks(leadership.occurrence,
 * leadership.signal)),
 *   start: true,
 * });
 * ```
 * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, before any tick.
 */
export function oncePerTick<Store extends LeaseStore = LeaseStore>(
  options: TickOptions<Store>,
  job: (leadership: ClaimedLeadership<Store>) => unknown,
): ((this: unknown) => Promise<void>) & Closable {
  const ticks = new Ticks("oncePerTick", options, true);
  checkJob("oncePerTick", job);
  async function onTick(this: unknown): Promise<void> {
    if (!isCronJob(this)) {
      throw new ConfigurationError(
        `cron called '${options.name}' with a context that is not its CronJob, which has the schedule. Leave its option 'context' out.`,
      );
    }
    await ticks.run(dueOf(this), job, (scheduledMs) => previousDueOf(this, scheduledMs));
  }
  return Object.assign(onTick, { close: () => ticks.close() });
}

function isCronJob(context: unknown): context is CronJob {
  const { cronTime, lastDate } = (context ?? {}) as Partial<CronJob>;
  return typeof cronTime?.getNextDateFrom === "function" && typeof lastDate === "function";
}
