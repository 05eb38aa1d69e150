import { ConfigurationError } from "../reporting/errors.ts";
import { duration } from "../store/lease-limits.ts";
import { scheduledMsOf, type Occurrence } from "./occurrence.ts";

/** The rule by which missed occurrences are done later: after the delivered occurrence, the oldest first. */
export interface CatchUp {
  /** Returns the time of the occurrence before this one, for instance `(ms) => ms - 3_600_000`. */
  readonly previous: (scheduledMs: number) => number;
  /** The number of earlier occurrences that a delivery checks. Each check costs one read. From 1 to 100. */
  readonly atMost: number;
  /** The beginning of the schedule, in ISO 8601. No occurrence before it counts as missed. */
  readonly since: string;
  /** The greatest age of an occurrence that is done later, in milliseconds since it was due. @defaultValue no limit but `retentionMs` */
  readonly withinMs?: number | undefined;
}

const MAX_LOOK_BACK = 100;
const WRITE_IT_LIKE = "Write it like 2026-11-20T00:00:00Z.";

export function checkCatchUp(catchUp: CatchUp): void {
  const { previous, atMost, since, withinMs } = (catchUp ?? {}) as CatchUp;
  if (typeof previous !== "function") {
    throw new ConfigurationError(
      "catchUp.previous must be a function: it takes the time of an occurrence, and returns the time of the one before.",
    );
  }
  if (!Number.isInteger(atMost) || atMost < 1 || atMost > MAX_LOOK_BACK) {
    throw new ConfigurationError(`catchUp.atMost is ${String(atMost)}; it must be a whole number from 1 to ${MAX_LOOK_BACK}.`);
  }
  scheduledMsOf(since, "catchUp.since", WRITE_IT_LIKE);
  if (withinMs !== undefined) duration("catchUp.withinMs", withinMs);
}

/** The most by which this machine's wall clock may be wrong. An occurrence may be done this much before it is due. */
const CLOCK_MARGIN_MS = 3_600_000;

/** Returns the earlier occurrences to check, the oldest first. Leaves out those that the store may have deleted. */
export function earlierOccurrences(
  { name, scheduledMs }: Occurrence,
  { previous, atMost, since, withinMs = Infinity }: CatchUp,
  retentionMs: number,
  wallMs: number,
): Occurrence[] {
  const rememberedMs = Math.max(scheduledMs, wallMs) - retentionMs + CLOCK_MARGIN_MS;
  const sinceMs = Math.max(scheduledMsOf(since, "catchUp.since", WRITE_IT_LIKE), rememberedMs, wallMs - withinMs);
  const earlier: Occurrence[] = [];
  let lastMs = scheduledMs;
  while (earlier.length < atMost) {
    const beforeMs = previous(lastMs);
    if (!(beforeMs < lastMs)) {
      throw new ConfigurationError(`catchUp.previous(${lastMs}) returned ${String(beforeMs)}; it must return an earlier time.`);
    }
    if (beforeMs < sinceMs) break;
    earlier.unshift({ name, scheduledMs: beforeMs });
    lastMs = beforeMs;
  }
  return earlier;
}
