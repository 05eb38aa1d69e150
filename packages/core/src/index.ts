// The entry point for users of an election. Authors of a store find the rest in provider.ts. Only one of the two exports each
// name.

import "./node-version.ts";

// The election.
export { Elector } from "./election/elector.ts";
export type { StopOptions, StopSignal, TryRunOutcome, RunOptions, WaitOptions } from "./election/calls.ts";
export type { ElectorHealth } from "./election/elector-health.ts";
export type { ContactHealth } from "./election/store-health.ts";
export type { LastSeen } from "./election/elector-reporter.ts";
export {
  EVENT_CHANNEL,
  LOOK_CHANNEL,
  RENEWAL_CHANNEL,
  type ElectorHandle,
  type Published,
  type PublishedEvent,
  type PublishedLook,
  type PublishedRenewal,
} from "./election/elector-channels.ts";
export type { ElectorEvents } from "./election/elector-events.ts";
export type { ElectorOptions } from "./election/elector-options.ts";
export type {
  HeldLeadership,
  Leader,
  Leadership,
  LeadershipOf,
  LeaderTask,
  OccurrenceLeadership,
} from "./election/leadership.ts";
export { OVERRUN_EXIT_CODE } from "./election/term-announcements.ts";
export { Observer, type ObserverOptions } from "./election/observer.ts";
export { timing, type Timing, type TimingOptions, type TimingReport } from "./election/timing.ts";
// Each occurrence of a schedule, once.
export {
  oncePerOccurrence,
  type ClaimedLeadership,
  type OccurrenceOutcome,
  type OccurrenceTask,
} from "./occurrences/once-per-occurrence.ts";
export type { OncePerOccurrenceOptions, ScheduleOptions } from "./occurrences/once-per-occurrence-options.ts";
export type { ClaimedOccurrence } from "./occurrences/occurrence.ts";
export type { FenceOf } from "./occurrences/fence-of.ts";
// Metrics.
export { REQUEST_BOUNDS, TAKEOVER_BOUNDS } from "./metrics/bounds.ts";
export { electionMetrics, type ElectionMeters, type MeasuredElection, type Measurement } from "./metrics/election-metrics.ts";
// The store, as a user sees it.
export type { LeaseSnapshot, LeaseState } from "./store/lease-snapshot.ts";
export type { LeaseStoreCapabilities, StoreClock } from "./store/capabilities.ts";
export type {
  BreakOptions,
  BreakOutcome,
  RepairOptions,
  RepairOutcome,
  ResumeOptions,
  ResumeOutcome,
  CheckOptions,
  CheckReport,
  Expiry,
  LeaseStore,
  PauseOptions,
  PauseOutcome,
  OccurrenceOptions,
  OccurrenceStore,
  ReadOptions,
  Reservation,
  TransferOptions,
  TransferOutcome,
} from "./store/lease-store.ts";
export type { StoreMember } from "./store/store-members.ts";
export { MemoryLeaseStore } from "./records/memory-lease-store.ts";
// Reporting.
export {
  REQUEST_CHANNEL,
  STATE_CHANNEL,
  type ElectorState,
  type StateChange,
  type StoreRequest,
} from "./reporting/diagnostics.ts";
export {
  AlreadyAbortedError,
  ConfigurationError,
  DrainTimeoutError,
  ElectorBusyError,
  FencedError,
  ForeignRecordError,
  isLeaseholdError,
  LeadershipEndedError,
  LeaseholdError,
  LeaseLostError,
  NotRecordedError,
  PausedError,
  StoreError,
  TermRegressedError,
  UnsupportedError,
  type EndReason,
  type LeaseholdErrorCode,
  type LeaseholdErrorDetails,
  type LossReason,
  type StoreErrorCode,
  type StoreErrorDetails,
} from "./reporting/errors.ts";
export { pinoLogger, type LogAttributes, type Logger, type LogLevel, type PinoLike } from "./reporting/logger.ts";
export type { LoggerOption, WarningCode } from "./reporting/journal.ts";
export type { StoreWarnings } from "./reporting/store-warnings.ts";
export type { ErrorSummary } from "./reporting/error-summary.ts";
// Time.
export { systemClock, type Clock, type Timer } from "./time/clock.ts";
