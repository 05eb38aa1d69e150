import type { LoggerOption } from "@leasehold/core";
import { Journal, type Occurrence } from "@leasehold/core/provider";

/** The journals to which it was said: once is enough. */
const said = new WeakSet<Journal>();

/**
 * Warns of an occurrence at a time that a cron expression cannot name. A schedule by rate counts from when it was made: in each
 * region it has instants of its own, so that no occurrence of one is ever another's, and each is done in every region.
 * @param grainMs the finest that the platform's cron expressions name.
 */
export function warnOfRate({ name, scheduledMs }: Occurrence, grainMs: number | undefined, logger: LoggerOption): void {
  if (grainMs === undefined || scheduledMs % grainMs === 0) return;
  const journal = Journal.to(logger);
  if (said.has(journal)) return;
  said.add(journal);
  const text = `'${name}' was due at a time that no cron expression names, so that it seems to be scheduled by a rate, such as rate(5 minutes). That counts from when the schedule was made: in a second region it names other instants, and 'oncePerTick' would do those as well. Schedule it by cron, unless it is in one region alone, or was started by hand.`;
  journal.warn("LEASEHOLD_NOT_WHEN_DUE", "warn", text, { name });
}
