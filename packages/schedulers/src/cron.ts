import { ConfigurationError, type ClaimedLeadership, type LeaseStore } from "@leasehold/core";
import type { CronJob } from "cron";
import { dueOf } from "./due-by-cron.ts";
import { checkJob, Ticks, type Closable, type TickOptions } from "./tick.ts";

export type { Closable, TickOptions } from "./tick.ts";

/**
 * Wraps a job for `cron`, as its `onTick`, so that each tick is done once, however many hosts schedule it and however skewed
 * their clocks are.
 *
 * cron does not tell when a tick was due: it is derived from the job's schedule, as the last time at or before the one at which
 * this host's timer fired. Hosts derive the same, as long as they have the same schedule and time zone: set `timeZone`, or two
 * hosts that are configured differently have two schedules. A tick that fires so late that the next was due by then is that next
 * one. `runOnInit` is the last tick before the start, and is done unless it is done already; `job.fireOnTick()` by hand is the
 * tick that fired last. To run the job by hand, call your own function. It guarantees what `oncePerOccurrence` does, and no more.
 *
 * @example
 * ```ts
 * CronJob.from({
 *   cronTime: "0 3 * * *",
 *   timeZone: "Etc/UTC",
 *   onTick: oncePerTick({ store, name: "close-the-books" }, (leadership) => closeTheBooks(leadership.occurrence, leadership.signal)),
 *   start: true,
 * });
 * ```
 * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, before any tick.
 */
export function oncePerTick<Store extends LeaseStore = LeaseStore>(
  options: TickOptions<Store>,
  job: (leadership: ClaimedLeadership<Store>) => unknown,
): ((this: unknown) => Promise<void>) & Closable {
  const ticks = new Ticks("oncePerTick", options);
  checkJob("oncePerTick", job);
  async function onTick(this: unknown): Promise<void> {
    if (!isCronJob(this)) {
      throw new ConfigurationError(
        `cron called '${options.name}' with a context that is not its CronJob, which has the schedule. Leave its option 'context' out.`,
      );
    }
    await ticks.run(dueOf(this), job);
  }
  return Object.assign(onTick, { close: () => ticks.close() });
}

function isCronJob(context: unknown): context is CronJob {
  const { cronTime, lastDate } = (context ?? {}) as Partial<CronJob>;
  return typeof cronTime?.getNextDateFrom === "function" && typeof lastDate === "function";
}
