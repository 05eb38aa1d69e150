// The entry point for authors of a store: the contract, and the parts that every store needs in the same way.

import "./node-version.ts";

export type {
  AcquireOutcome,
  AcquireRequest,
  Fenced,
  Lease,
  ReleaseOptions,
  ReleaseOutcome,
  RenewOutcome,
  RequestLimits,
  WatchOptions,
  OccurrenceOptions,
  OccurrenceStore,
  Reservation,
} from "./store/lease-store.ts";
export type { JoinOptions, Place } from "./store/place.ts";
export { cannotList, cannotPause, checkList, endOfPrefix, LIST_PAGE_SIZE } from "./store/listing.ts";
export { blockerOf, mayAcquire, type Blocker } from "./store/lease-snapshot.ts";
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
export { RecordLeaseStore, RecordOccurrenceStore, type RecordLeaseStoreOptions } from "./records/record-lease-store.ts";
export { MemoryRecordStore } from "./records/memory-lease-store.ts";
export { barOf, kindOf, withBars, type Bar } from "./records/bars.ts";
export * from "./records/record-store.ts";
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
export { attempt, type AttemptOutcome, type LatestBegin } from "./occurrences/attempt.ts";
export { completeWhileClaimed } from "./occurrences/run-claimed.ts";
export { type CatchUp, checkCatchUp, earlierOccurrences } from "./occurrences/catch-up.ts";
export { noteRun } from "./occurrences/last-run.ts";
export { checkRetention, DEFAULT_RETENTION_MS, occurrencesOf } from "./occurrences/kept-occurrences.ts";
export { checkScheduledAt, checkWhenDue } from "./occurrences/scheduled-at.ts";
export { doOccurrence, latestBegin, outcomeOfOver } from "./occurrences/once-per-occurrence.ts";
export { occurrenceId, scheduledMsOf, type Occurrence } from "./occurrences/occurrence.ts";
export { checkOverlap, type Settled } from "./occurrences/overlap.ts";
export { fenceOf, runClaimed, type FenceOf } from "./occurrences/run-claimed.ts";
export { checkFailureOptions, type FailureOptions } from "./occurrences/tries.ts";
export { checkSchedule } from "./occurrences/once-per-occurrence-options.ts";
export { defaultCandidateId } from "./election/candidate-id.ts";
export { wakeUps, type JoinedWatch, type WatchCallbacks } from "./store/wake-ups.ts";
export { LocalStoreWarnings } from "./store/local-store.ts";
export { sendRequest, shareLimits, timedCheck, type RequestOptions } from "./store/request.ts";
export { requestFailed, retryAfterMs, wasNeverSent, type RequestLabel } from "./store/failed-request.ts";
export { asSentence, redact } from "./reporting/redact.ts";
export { Journal, StoreWarnings } from "./reporting/journal.ts";
export { Listeners } from "./reporting/listeners.ts";
export { holderElapsedMs, instantOf, isoOf, onAbort, sleep, systemClock } from "./time/clock.ts";
export type { Clock, Instant, Timer } from "./time/clock.ts";
export type { Interval } from "./time/interval.ts";
export { ExpiringMap } from "./time/expiring-map.ts";
export { AGE_UNCERTAINTY_MS, boundsOfAge, DATE_GRAIN_MS, ServiceClock } from "./time/service-clock.ts";
export type { StoreClock } from "./store/capabilities.ts";
export {
  AlreadyAbortedError,
  ForeignRecordError,
  LeadershipEndedError,
  mayHaveBeenApplied,
  PausedError,
} from "./reporting/errors.ts";
