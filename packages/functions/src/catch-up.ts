import { ConfigurationError } from "@leasehold/core";
import { scheduledMsOf, type Occurrence } from "./occurrence.ts";

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
  scheduledMsOf(since, "catchUp.since", "Write it like 2026-11-20T00:00:00Z.");
}

/** How far this machine's wall clock may be off, and an occurrence be done before it was due by it. */
const CLOCK_MARGIN_MS = 3_600_000;

/**
 * The occurrences before this one that are to be looked at, the oldest first: none of which it may be forgotten already
 * that it was done.
 */
export function earlierOccurrences(
  { name, scheduledMs }: Occurrence,
  { previous, atMost, since }: CatchUp,
  retentionMs: number,
  wallMs: number,
): Occurrence[] {
  const rememberedMs = Math.max(scheduledMs, wallMs) - retentionMs + CLOCK_MARGIN_MS;
  const sinceMs = Math.max(scheduledMsOf(since, "catchUp.since"), rememberedMs);
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
