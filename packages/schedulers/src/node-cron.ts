import { ConfigurationError, type ClaimedLeadership, type LeaseStore } from "@leasehold/core";
import type { TaskContext } from "node-cron";
import { checkJob, notFrom, Ticks, type Closable, type TickOptions, type TickOutcome } from "./tick.ts";

export { RunClaims, type RunClaimsOptions } from "./run-claims.ts";
export type { Closable, TickCatchUp, TickOptions, TickOutcome } from "./tick.ts";

/**
 * Wraps a job for node-cron, so that each tick is done once. Any number of hosts may schedule it, with any difference of their
 * clocks. The tick's name contains `context.date`, the time at which it was due.
 *
 * The guarantees are those of `oncePerOccurrence`. node-cron itself skips a tick that is later than `missedExecutionTolerance`. A
 * tick that every host misses is not done. `task.execute()` is refused, because it is no tick. To run the job by hand, call your
 * own function.
 *
 * @example
 * ```ts
 * cron.schedule(
 *   "0 3 * * *",
 *   oncePerTick({ store, name: "close-the-books" }, (leadership) => closeTheBooks(leadership.occurrence, leadership.signal)),
 *   { timezone: "Etc/UTC" },
 * );
 * ```
 * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, before any tick.
 */
export function oncePerTick<T, Store extends LeaseStore = LeaseStore>(
  options: TickOptions<Store>,
  job: (leadership: ClaimedLeadership<Store>, context: TaskContext) => Promise<T> | T,
): ((context: TaskContext) => Promise<TickOutcome<T>>) & Closable {
  const ticks = new Ticks("oncePerTick", options);
  checkJob("oncePerTick", job);
  const onTick = async (context: TaskContext): Promise<TickOutcome<T>> => {
    if ((context as Partial<TaskContext> | undefined)?.date === undefined) throw notFrom("node-cron", options.name);
    if (context.execution?.reason === "invoked") {
      throw new ConfigurationError(
        `task.execute() is no tick of '${options.name}', so that there is nothing to do once. To run the job by hand, call its own function.`,
      );
    }
    return await ticks.run(context.date, (leadership) => job(leadership, context));
  };
  return Object.assign(onTick, { close: () => ticks.close() });
}
