import { ConfigurationError } from "@leasehold/core";
import { scheduledMsOf, type Occurrence } from "@leasehold/core/provider";

/**
 * The rule by which occurrences that nobody has done, for instance because every region was down, are done after the one
 * delivered, while there is time.
 */
export interface CatchUp {
  /** Returns the time at which the occurrence before one was due, for instance `(ms) => ms - 3_600_000`; may take account of a calendar. */
  readonly previous: (scheduledMs: number) => number;
  /** The number of occurrences that each delivery checks, at one read each. From 1 to 100. */
  readonly atMost: number;
  /** The beginning of the schedule, in ISO 8601: nothing before it was missed. */
  readonly since: string;
}

const MAX_LOOK_BACK = 100;
const WRITE_IT_LIKE = "Write it like 2026-11-20T00:00:00Z.";

/** @throws {ConfigurationError} for what cannot work. */
export function checkCatchUp(catchUp: CatchUp): void {
  const { previous, atMost, since } = catchUp;
  if (typeof previous !== "function") {
    throw new ConfigurationError(
      "catchUp.previous must be a function from when an occurrence was due to when the one before it was.",
    );
  }
  if (!Number.isInteger(atMost) || atMost < 1 || atMost > MAX_LOOK_BACK) {
    throw new ConfigurationError(`catchUp.atMost is ${String(atMost)}; it must be a whole number from 1 to ${MAX_LOOK_BACK}.`);
  }
  scheduledMsOf(since, "catchUp.since", WRITE_IT_LIKE);
}

/** The most by which this machine's wall clock is off, so that an occurrence may be done before it was due by it. */
const CLOCK_MARGIN_MS = 3_600_000;

/**
 * Returns the occurrences before this one that are to be checked, the oldest first. None is so old that the store may
 * have forgotten that it was done.
 */
export function earlierOccurrences(
  { name, scheduledMs }: Occurrence,
  { previous, atMost, since }: CatchUp,
  retentionMs: number,
  wallMs: number,
): Occurrence[] {
  const rememberedMs = Math.max(scheduledMs, wallMs) - retentionMs + CLOCK_MARGIN_MS;
  const sinceMs = Math.max(scheduledMsOf(since, "catchUp.since", WRITE_IT_LIKE), rememberedMs);
  const earlier: Occurrence[] = [];
  let lastMs = scheduledMs;
  while (earlier.length < atMost) {
    const beforeMs = previous(lastMs);
    if (!(beforeMs < lastMs)) {
      throw new ConfigurationError(`catchUp.previous(${lastMs}) is ${String(beforeMs)}, which is not before it.`);
    }
    if (beforeMs < sinceMs) break;
    earlier.unshift({ name, scheduledMs: beforeMs });
    lastMs = beforeMs;
  }
  return earlier;
}
