// The entry point for gates of schedules, such as schedulers and scheduled functions, and for the types of `oncePerOccurrence`.

import "./node-version.ts";

export type { LeadershipOf } from "./election/leadership.ts";
export { attempt, type AttemptOutcome, type LatestBegin } from "./occurrences/attempt.ts";
export { type CatchUp, checkCatchUp, earlierOccurrences } from "./occurrences/catch-up.ts";
export { checkRetention, DEFAULT_RETENTION_MS, occurrencesOf } from "./occurrences/kept-occurrences.ts";
export { noteRun, type LastRun, type LastRunOptions } from "./occurrences/last-run.ts";
export { occurrenceId, scheduledMsOf, type ClaimedKey } from "./occurrences/occurrence.ts";
export type { ClaimedOccurrence, Occurrence } from "./occurrences/occurrence.ts";
export { doOccurrence, latestBegin, outcomeOfOver, type OccurrenceTask } from "./occurrences/once-per-occurrence.ts";
export { checkSchedule, type OncePerKeyOptions, type ScheduleOptions } from "./occurrences/once-per-occurrence-options.ts";
export { checkOverlap, type Overlap, type Settled } from "./occurrences/overlap.ts";
export { completeWhileClaimed, fenceOf, runClaimed, type FenceOf } from "./occurrences/run-claimed.ts";
export { checkScheduledAt, checkWhenDue } from "./occurrences/scheduled-at.ts";
export { checkFailureOptions, type FailureOptions } from "./occurrences/tries.ts";
export type { Completion, NotRun } from "./store/lease-snapshot.ts";
