import type { LoggerOption } from "@leasehold/core";
import { Journal } from "@leasehold/core/provider";
import type { Occurrence } from "@leasehold/core/occurrences";

/** The journals that have this warning already. One warning per journal is enough. */
const warned = new WeakSet<Journal>();

/**
 * Warns of an occurrence at a time that a cron expression cannot name. A schedule by rate counts from the time at which it was
 * made. In each region it fires at other times. Then no two regions have the same occurrence, and each region does its own ones.
 * @param grainMs the finest step of the platform's cron expressions.
 */
export function warnOfRate({ name, scheduledMs }: Occurrence, grainMs: number | undefined, logger: LoggerOption): void {
  if (grainMs === undefined || scheduledMs % grainMs === 0) return;
  const journal = Journal.to(logger);
  if (warned.has(journal)) return;
  warned.add(journal);
  const text = `'${name}' was due at a time that no cron expression names, so that it seems to be scheduled by a rate, such as rate(5 minutes). A rate counts from when the schedule was made: in a second region the schedule is due at other times, and 'oncePerTick' would do those as well. Schedule it by cron, unless it is in one region alone, or was started by hand.`;
  journal.warn("LEASEHOLD_NOT_WHEN_DUE", "warn", text, { name });
}
