// The entry point for authors of a store: the contract, and the parts that every store needs in the same way.

import "./node-version.ts";

export type {
  AcquireOutcome,
  AcquireRequest,
  CheckOptions,
  CheckReport,
  Fenced,
  Lease,
  ReleaseOptions,
  ReleaseOutcome,
  ReadOptions,
  RenewOutcome,
  RequestLimits,
  WatchOptions,
  OccurrenceOptions,
  OccurrenceStore,
  Reservation,
} from "./store/lease-store.ts";
export type {
  BreakOptions,
  BreakOutcome,
  PauseOptions,
  PauseOutcome,
  RepairOptions,
  RepairOutcome,
  TransferOptions,
  TransferOutcome,
} from "./store/admin-calls.ts";
export type { JoinOptions, Place } from "./store/place.ts";
export { cannotPause, checkList, endOfPrefix, LIST_PAGE_SIZE, type ListOptions } from "./store/listing.ts";
export { blockerOf, mayAcquire, type Blocker, type LeaseState } from "./store/lease-snapshot.ts";
export { Administration, type AdminStore, type Order, type OrderLimits, type ElectionState } from "./store/administration.ts";
export {
  disposable,
  type OpenedStore,
  type StoreScheme,
  type StoreSchemes,
  type StoreUrl,
  type StoreUrlContext,
} from "./store/store-url.ts";
export { membersText, type StoreMember } from "./store/store-members.ts";
export { barOf } from "./records/bars.ts";
export { RecordLeaseStore, RecordOccurrenceStore, type RecordLeaseStoreOptions } from "./records/record-lease-store.ts";
export { MemoryRecordStore } from "./records/memory-lease-store.ts";
export * from "./records/record-store.ts";
export { beginTerm, closeExpired, endTerm, historyOf, type TermRecord } from "./records/term-history.ts";
export { checkLease, DEFAULT_REQUEST_TIMEOUT_MS, duration, SAFETY_MARGIN } from "./store/lease-limits.ts";
export {
  checkBoolean,
  checkCallOptions,
  checkChoice,
  checkKnown,
  checkOptions,
  checkSignal,
  defineOptions,
  sharedClock,
} from "./store/options.ts";
export { checkName, checkReservation, checkTerm, checkValue, decodeName, encodeName, MAX_NAME_BYTES } from "./store/names.ts";
export { defaultCandidateId } from "./election/candidate-id.ts";
export { wakeUps, type JoinedWatch, type WatchCallbacks } from "./store/wake-ups.ts";
export { LocalStoreWarnings } from "./store/local-store.ts";
export { sendRequest, shareLimits, timedCheck, type RequestOptions } from "./store/request.ts";
export { requestFailed, retryAfterMs, wasNeverSent, type RequestLabel } from "./store/failed-request.ts";
export { asSentence, redact } from "./reporting/redact.ts";
export { Journal, StoreWarnings } from "./reporting/journal.ts";
export type { LogAttributes } from "./reporting/logger.ts";
export { Listeners } from "./reporting/listeners.ts";
export { holderElapsedMs, instantOf, isoOf, onAbort, sleep, systemClock } from "./time/clock.ts";
export type { Clock, Instant, Timer } from "./time/clock.ts";
export type { Interval } from "./time/interval.ts";
export { ExpiringMap } from "./time/expiring-map.ts";
export { AGE_UNCERTAINTY_MS, boundsOfAge, DATE_GRAIN_MS, ServiceClock } from "./time/service-clock.ts";
export type { StoreClock } from "./store/capabilities.ts";
export {
  AlreadyAbortedError,
  DrainTimeoutError,
  ForeignRecordError,
  isMisuse,
  isRefusal,
  isStoreError,
  LeadershipEndedError,
  mayHaveBeenApplied,
  TermRegressedError,
} from "./reporting/errors.ts";
