// The entry point for users of an election. Authors of a store find the rest in provider.ts. Each name is exported by only one of
// the two.

import "./node-version.ts";

export { Elector } from "./election/elector.ts";
export { assertLeading } from "./election/inside-task.ts";
export type { StopOptions, TryRunOutcome, RunOptions, WaitOptions } from "./election/calls.ts";
export type { ElectorHealth } from "./election/elector-health.ts";
export type { ContactHealth } from "./election/store-health.ts";
export type { ElectorEvents } from "./election/elector-events.ts";
export type { ElectorOptions } from "./election/elector-options.ts";
export type { HeldLeadership, Leader, LeaderTask, Leadership, OccurrenceLeadership } from "./election/leadership.ts";
export { Observer, type ObserverOptions } from "./election/observer.ts";
export { timing, type Timing, type TimingOptions, type TimingReport } from "./election/timing.ts";
export { oncePerOccurrence, type ClaimedLeadership, type OccurrenceOutcome } from "./occurrences/once-per-occurrence.ts";
export type { OncePerOccurrenceOptions } from "./occurrences/once-per-occurrence-options.ts";
export { lastRun } from "./occurrences/last-run.ts";
export type { LeaseSnapshot, PastTerm } from "./store/lease-snapshot.ts";
export type { ListedElection } from "./store/listing.ts";
export type { LeaseStoreCapabilities } from "./store/capabilities.ts";
export type { LeaseStore } from "./store/lease-store.ts";
export { MemoryLeaseStore } from "./records/memory-lease-store.ts";
export { ConfigurationError, ElectorBusyError, FencedError, isLeaseholdError } from "./reporting/errors.ts";
export { LeaseholdError, LeaseLostError, StoreError, UnsupportedError } from "./reporting/errors.ts";
export type { LeaseholdErrorCode, LossReason, StoreErrorCode } from "./reporting/errors.ts";
export { pinoLogger, type Logger } from "./reporting/logger.ts";
export type { LoggerOption } from "./reporting/journal.ts";
