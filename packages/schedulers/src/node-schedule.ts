import { ConfigurationError, isLeaseholdError, type ClaimedLeadership, type LeaseStore } from "@leasehold/core";
import { Journal } from "@leasehold/core/provider";
import { checkJob, Ticks, type Closable, type TickOptions, type TickOutcome } from "./tick.ts";

export type { Closable, TickCatchUp, TickOptions, TickOutcome } from "./tick.ts";

/**
 * Wraps a job for node-schedule, so that each tick is done once. Any number of hosts may schedule it, with any difference of
 * their clocks. The tick's name contains the date that node-schedule passes, the time at which it was due.
 *
 * Set `tz` in the rule, because otherwise two hosts that are configured differently have two schedules. `job.invoke()` is
 * refused, because it is no tick. To run the job by hand, call your own function. The guarantees are those of
 * `oncePerOccurrence`.
 *
 * Listen to the job's `error`, because without a listener an error of the job ends the process. Without a listener, Leasehold
 * reports its own errors (an outage of the store) to the `logger`, or as a process warning.
 *
 * @example
 * ```ts
 * const job = scheduleJob(
 *   { rule: "0 3 * * *", tz: "Etc/UTC" },
 *   oncePerTick({ store, name: "close-the-books" }, (leadership) => closeTheBooks(leadership.occurrence, leadership.signal)),
 * );
 * job.on("error", console.error);
 * ```
 * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, before any tick.
 */
export function oncePerTick<T, Store extends LeaseStore = LeaseStore>(
  options: TickOptions<Store>,
  job: (leadership: ClaimedLeadership<Store>) => Promise<T> | T,
): ((this: unknown, fireDate: Date) => Promise<TickOutcome<T> | undefined>) & Closable {
  const ticks = new Ticks("oncePerTick", options);
  checkJob("oncePerTick", job);
  const journal = Journal.to(options.logger);
  async function onTick(this: unknown, fireDate: Date): Promise<TickOutcome<T> | undefined> {
    try {
      checkFireDate(options.name, fireDate);
      return await ticks.run(fireDate, job);
    } catch (error) {
      if (hasErrorListener(this) || !isLeaseholdError(error)) throw error;
      const attributes = { name: options.name, code: error.code };
      journal.warn("LEASEHOLD_TICK_FAILED", "error", `A tick of '${options.name}' failed. ${error.message}`, attributes);
      return undefined;
    }
  }
  return Object.assign(onTick, { close: () => ticks.close() });
}

function checkFireDate(name: string, fireDate: unknown): void {
  if (typeof (fireDate as Partial<Date> | undefined)?.getTime === "function") return;
  throw new ConfigurationError(
    `job.invoke() is no tick of '${name}', so that there is nothing to do once. To run the job by hand, call its own function.`,
  );
}

/** node-schedule calls a job as a method of its Job, which emits `error`. */
function hasErrorListener(job: unknown): boolean {
  const { listenerCount } = (job ?? {}) as { listenerCount?: (event: string) => number };
  return typeof listenerCount === "function" && listenerCount.call(job, "error") > 0;
}
