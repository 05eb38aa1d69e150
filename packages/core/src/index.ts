// The entry point for users of an election. Authors of a store find the rest in provider.ts. Only one of the two exports each
// name.

import "./node-version.ts";

export { Elector } from "./election/elector.ts";
export { assertLeading } from "./election/inside-task.ts";
export type { StopOptions, TryRunOutcome, RunOptions, WaitOptions } from "./election/calls.ts";
export type { ElectorHealth } from "./election/elector-health.ts";
export type { ContactHealth } from "./election/store-health.ts";
export type { ElectorEvents } from "./election/elector-events.ts";
export type { ElectorOptions } from "./election/elector-options.ts";
export type * from "./election/leadership.ts";
export { Observer, type ObserverOptions } from "./election/observer.ts";
export { timing, type Timing, type TimingOptions, type TimingReport } from "./election/timing.ts";
export {
  oncePerOccurrence,
  type ClaimedLeadership,
  type OccurrenceOutcome,
  type OccurrenceTask,
} from "./occurrences/once-per-occurrence.ts";
export type { OncePerKeyOptions, OncePerOccurrenceOptions, ScheduleOptions } from "./occurrences/once-per-occurrence-options.ts";
export { lastRun, type LastRun, type LastRunOptions } from "./occurrences/last-run.ts";
export type { Overlap } from "./occurrences/overlap.ts";
export type { ClaimedKey, ClaimedOccurrence } from "./occurrences/occurrence.ts";
export type { Completion, LeaseSnapshot, LeaseState, NotRun, PastTerm } from "./store/lease-snapshot.ts";
export type { ListedElection, ListOptions } from "./store/listing.ts";
export type { LeaseStoreCapabilities } from "./store/capabilities.ts";
export type { CheckOptions, CheckReport, Expiry, LeaseStore, ReadOptions } from "./store/lease-store.ts";
export type {
  BreakOptions,
  BreakOutcome,
  RepairOptions,
  RepairOutcome,
  ResumeOptions,
  PauseOptions,
  PauseOutcome,
  TransferOptions,
  TransferOutcome,
} from "./store/admin-calls.ts";
export { MemoryLeaseStore } from "./records/memory-lease-store.ts";
export {
  ConfigurationError,
  DrainTimeoutError,
  ElectorBusyError,
  FencedError,
  isLeaseholdError,
  LeaseholdError,
  LeaseLostError,
  StoreError,
  TermRegressedError,
  UnsupportedError,
  type LeaseholdErrorCode,
  type LossReason,
  type StoreErrorCode,
} from "./reporting/errors.ts";
export { pinoLogger, type LogAttributes, type Logger, type LogLevel } from "./reporting/logger.ts";
export type { LoggerOption } from "./reporting/journal.ts";
