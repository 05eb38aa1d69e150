import { ConfigurationError, isLeaseholdError, type ClaimedLeadership, type LeaseStore } from "@leasehold/core";
import { systemClock, Journal } from "@leasehold/core/provider";
import type { Cron } from "croner";
import { checkJob, notFrom, Ticks, type Closable, type TickOptions } from "./tick.ts";

export type { Closable, TickCatchUp, TickOptions } from "./tick.ts";

/**
 * Wraps a job for croner, so that each tick is done once. Any number of hosts may schedule it, with any difference of their
 * clocks.
 *
 * croner does not pass the time at which a tick was due. This package derives it from the job's schedule (`previousRuns`): the
 * last time at or before the time at which this host's timer fired. Hosts with the same pattern and time zone derive the same
 * time. Set `timezone`.
 *
 * If a tick fires so late that the next one was due by then, it counts as that next one. `job.trigger()` by hand counts as the
 * tick that was due last. To run the job by hand, call your own function. The option `interval` is refused, because it counts
 * from each host's own last run, so that hosts do not agree. The guarantees are those of `oncePerOccurrence`.
 *
 * Set croner's `catch`, because without it an error of the job ends the process. Without `catch`, Leasehold reports its own
 * errors (an outage of the store) to the `logger`, or as a process warning.
 *
 * @example
 * ```ts
 * new Cron(
 *   "0 3 * * *",
 *   { timezone: "Etc/UTC", catch: console.error },
 *   oncePerTick({ store, name: "close-the-books" }, (leadership) => closeTheBooks(leadership.occurrence, leadership.signal)),
 * );
 * ```
 * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, before any tick.
 */
export function oncePerTick<Store extends LeaseStore = LeaseStore, Context = undefined>(
  options: TickOptions<Store>,
  job: (leadership: ClaimedLeadership<Store>, cron: Cron<Context>) => unknown,
): ((cron: Cron<Context>) => Promise<void>) & Closable {
  const ticks = new Ticks("oncePerTick", options, true);
  checkJob("oncePerTick", job);
  const journal = Journal.to(options.logger);
  const onTick = async (cron: Cron<Context>): Promise<void> => {
    if (typeof (cron as Partial<Cron<Context>> | undefined)?.previousRuns !== "function") throw notFrom("croner", options.name);
    try {
      checkInterval(options.name, cron);
      await ticks.run(
        dueOf(cron),
        (leadership) => job(leadership, cron),
        (scheduledMs) => lastRunBefore(cron, scheduledMs),
      );
    } catch (error) {
      if (cron.options.catch || !isLeaseholdError(error)) throw error;
      const attributes = { name: options.name, code: error.code };
      journal.warn("LEASEHOLD_TICK_FAILED", "error", `A tick of '${options.name}' failed. ${error.message}`, attributes);
    }
  };
  return Object.assign(onTick, { close: () => ticks.close() });
}

function checkInterval<Context>(name: string, { options }: Cron<Context>): void {
  if (Number(options.interval) > 1) {
    throw new ConfigurationError(
      `The interval of '${name}' counts from each host's own last run, so that hosts do not agree when a tick was due. Write it into the pattern.`,
    );
  }
}

function dueOf<Context>(cron: Cron<Context>): number {
  const firedMs = cron.currentRun()?.getTime() ?? systemClock.wallMs();
  const dueMs = lastRunBefore(cron, firedMs + 1);
  if (Number.isFinite(dueMs)) return dueMs;
  throw new ConfigurationError(`The schedule '${cron.getPattern() ?? ""}' was never due.`);
}

/** Returns the last time of the schedule before another time. -Infinity if there was none. */
function lastRunBefore<Context>(cron: Cron<Context>, beforeMs: number): number {
  // oxlint-disable-next-line eslint/no-restricted-globals -- croner takes a Date, and returns the runs before it
  const [run] = cron.previousRuns(1, new Date(beforeMs));
  return run?.getTime() ?? -Infinity;
}
