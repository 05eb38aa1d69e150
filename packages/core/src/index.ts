export { Administration, type Administered, type Order, type OrderLimits, type Standing } from "./administration.ts";
export { barOf, mayAcquire, type Bar, type Claims } from "./bar.ts";
export { shareLimits } from "./call-limits.ts";
export { holderElapsedMs, instantOf, sleep, systemClock, type Clock, type Instant, type Timer } from "./clock.ts";
export { REQUEST_CHANNEL, STATE_CHANNEL, type ElectorState, type StateChange, type StoreRequest } from "./diagnostics.ts";
export { Elector, OVERRUN_EXIT_CODE, type TryRunOutcome, type WaitOptions } from "./elector.ts";
export type { ElectorEvents } from "./elector-events.ts";
export type { ElectorOptions } from "./elector-options.ts";
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
  StoreError,
  TermRegressedError,
  UnsupportedError,
  type EndReason,
  type LeaseholdErrorCode,
  type LeaseholdErrorDetails,
  type LossReason,
  type StoreErrorCode,
  type StoreErrorDetails,
} from "./errors.ts";
export type { Interval } from "./interval.ts";
export type { HeldLeadership, Leader, Leadership, LeaderTask } from "./leadership.ts";
export type {
  AcquireOutcome,
  AcquireRequest,
  BreakOptions,
  BreakOutcome,
  Lease,
  LeaseSnapshot,
  LeaseState,
  LeaseStore,
  LeaseStoreCapabilities,
  OccurrenceOptions,
  ReadOptions,
  ReleaseOptions,
  ReleaseOutcome,
  RenewOutcome,
  RequestLimits,
  Reservation,
  StoreClock,
  TransferOptions,
  TransferOutcome,
  WatchOptions,
} from "./lease-store.ts";
export { MemoryLeaseStore, MemoryRecordStore } from "./memory-lease-store.ts";
export { discreet } from "./discreet.ts";
export { checkName, checkReservation, checkTerm, checkValue, MAX_NAME_BYTES } from "./names.ts";
export { Observer, type ObserverOptions } from "./observer.ts";
export { Recent } from "./recent.ts";
export { RecordLeaseStore, type OccurrenceStoreOptions, type RecordLeaseStoreOptions } from "./record-lease-store.ts";
export {
  LEASE_RECORD_FIELDS,
  type Fence,
  type GetOptions,
  type LeaseRecord,
  type PutOptions,
  type PutOutcome,
  type RecordRequestOptions,
  type RecordStore,
  type RecordStoreCapabilities,
  type StoredRecord,
} from "./record-store.ts";
export { sendRequest, type RequestOptions } from "./request.ts";
export { ServiceClock } from "./service-clock.ts";
export {
  DEFAULT_REQUEST_TIMEOUT_MS,
  duration,
  SAFETY_MARGIN,
  timing,
  type Timing,
  type TimingOptions,
  type TimingReport,
} from "./timing.ts";
