import { ConfigurationError } from "@leasehold/core";
import { occurrenceId, scheduledMsOf, type Occurrence } from "./occurrence.ts";

/** Which occurrences that nobody has done, for instance because every region was down, are done after the one delivered, while there is time. */
export interface CatchUp {
  /** When the occurrence before one was due, for instance `(ms) => ms - 3_600_000`; may take account of a calendar. */
  readonly previous: (scheduledMs: number) => number;
  /** How many occurrences to look back, at each delivery: one read each. From 1 to 100. */
  readonly atMost: number;
  /** When the schedule began, in ISO 8601: nothing before it was missed. */
  readonly since: string;
}

const MAX_LOOK_BACK = 100;

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
  scheduledMsOf(since, "catchUp.since");
}

/** The occurrences before this one that are to be looked at, the oldest first. */
export function earlierOccurrences({ name, scheduledMs }: Occurrence, { previous, atMost, since }: CatchUp): Occurrence[] {
  const sinceMs = scheduledMsOf(since, "catchUp.since");
  const earlier: Occurrence[] = [];
  let lastMs = scheduledMs;
  while (earlier.length < atMost) {
    const beforeMs = previous(lastMs);
    if (!(beforeMs < lastMs)) {
      throw new ConfigurationError(`catchUp.previous(${lastMs}) is ${String(beforeMs)}, which is not before it.`);
    }
    if (beforeMs < sinceMs) break;
    const occurrence = { name, scheduledMs: beforeMs };
    occurrenceId(occurrence);
    earlier.unshift(occurrence);
    lastMs = beforeMs;
  }
  return earlier;
}
