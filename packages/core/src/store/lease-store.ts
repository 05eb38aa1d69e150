import type {
  AdminCallOptions,
  BreakOptions,
  BreakOutcome,
  PauseOptions,
  PauseOutcome,
  ResumeOutcome,
  RepairOptions,
  RepairOutcome,
  TransferOptions,
  TransferOutcome,
} from "./admin-calls.ts";
import type { StoreWarnings } from "../reporting/journal.ts";
import type { Completion, LeaseSnapshot } from "./lease-snapshot.ts";
import type { ListedElection, ListOptions } from "./listing.ts";
import type { Clock, Instant } from "../time/clock.ts";
import type { LossReason } from "../reporting/errors.ts";
import type { StoreMember } from "./store-members.ts";
import type { LeaseStoreCapabilities } from "./capabilities.ts";
import type { JoinOptions, Place } from "./place.ts";

/**
 * A store that can hold one lease per election: the contract between the elector and a provider.
 *
 * "Held by someone else" is a return value. A failure is thrown: a `StoreError` (the outcome is unknown, or nothing happened), a
 * `ForeignRecordError` or a `TermRegressedError`. A store never retries. One call is one attempt, limited by `timeoutMs`.
 */
export interface LeaseStore {
  /** For messages and telemetry, for instance `azure-blob`. */
  readonly name: string;
  readonly capabilities: LeaseStoreCapabilities;
  /** Warnings for people. They go to the loggers of the electors and observers that use the store. */
  readonly warnings?: StoreWarnings | undefined;
  /** The clock of grants. Electors and observers of the store use the same one. @defaultValue the system's */
  readonly clock?: Clock | undefined;

  /**
   * One attempt to take a lease that is vacant or has expired. A win raises the term above every earlier one. If the reply to a
   * win is lost, the store later recognises it, or releases it as soon as it reads it.
   * @throws {TermRegressedError} when the new term would not be above `aboveTerm`; nothing was written.
   */
  acquire(request: AcquireRequest): Promise<AcquireOutcome>;

  /** Returns a place in the store's queue for one candidate that waits for its turn. Only where the store has a queue. */
  join?(request: AcquireRequest, options: JoinOptions): Place;

  /** One attempt to renew, by one request. Only if that request meets another write does the store read, and renew again. */
  renew(lease: Lease, limits: RequestLimits): Promise<RenewOutcome>;

  /** Changes the value that observers read for the leader, without changing the term. */
  publish(lease: Lease, value: string, limits: RequestLimits): Promise<RenewOutcome>;

  /** Frees exactly this term. A second or late call is harmless. */
  release(lease: Lease, options: ReleaseOptions): Promise<ReleaseOutcome>;

  /** Called when a term is over and was not released. Sends nothing. */
  forget?(lease: Lease): void;

  /** Returns the lease, with what this process has observed before; `undefined` if there never was a record. */
  read(election: string, options?: ReadOptions): Promise<LeaseSnapshot | undefined>;

  /**
   * Lists, page by page, the elections whose names begin with `prefix`, by code point. They are unordered, and each one comes
   * once, as of its own read. An election that changes meanwhile may be missing or old. Occurrences are not listed. For
   * operators: a list may need a permission of its own.
   * @throws {ConfigurationError} {UnsupportedError} at once, for bad input or without `capabilities.list`.
   * @throws {StoreError} while iterating, if a request fails. The signal's reason, once it aborts.
   */
  list(prefix?: string, options?: ListOptions): AsyncIterable<ListedElection>;

  /**
   * Returns the time that a standby should wait before its next poll. Where the store cannot push, that time is at most
   * `retryPeriodMs`. The poll then comes just after a renewal or an expiry can be observed. The time is an estimate, never a
   * proof.
   */
  nextLookMs(election: string, retryPeriodMs: number): number;

  /**
   * Reaches the store, and proves the right to write by a write whose condition must fail. Changes nothing. It tests no separate
   * fence, because a write to a fence would wait for the leader's transactions.
   * @throws {StoreError} if the read or the write fails.
   * @throws {ConfigurationError} if the store carries the write out all the same.
   */
  check(options: CheckOptions): Promise<CheckReport>;

  /**
   * Returns what a person should know about the service's settings: sentences, each with its remedy. Sends one request that
   * changes nothing. Electors log it as warnings; `check` returns it, too.
   * @throws {StoreError} where the service does not answer, or its layout cannot hold leases.
   */
  inspect?(options: CheckOptions): Promise<readonly string[]>;

  /** Returns the members of a store that is made of several, as this process found them last. Sends nothing. */
  members?(): readonly StoreMember[];

  /**
   * Admits a member that was emptied or restored, and writes the records of these elections to it.
   * @throws {ConfigurationError} if a person has to decide first; the message says what to do.
   */
  heal?(
    member: string,
    elections?: readonly string[],
    options?: { readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): Promise<void>;

  /**
   * Yields wake-ups without data, only where `capabilities.watch` is `push`. The first one comes once the watch works. Then each
   * acquisition, release and break makes one. A wake-up may be merged, come late, be lost, or come without a cause. So a caller
   * goes on polling. Ends when the signal aborts.
   */
  watch?(election: string, options: WatchOptions): AsyncIterable<void>;

  /** Wakes the holder when its lease may be gone, so that it renews at once; see {@link watch}. Restarts by itself. */
  watchLease?(lease: Lease, options: WatchOptions): AsyncIterable<void>;

  /**
   * Forces a re-election. Renewal is closed at once. Unless the break is `immediate`, no candidate may acquire before the rest of
   * the old lease has passed, so that two leaders are never valid. A break also removes a transfer, a hold and a reservation, but
   * no pause. It does not raise the term. A lost reply is resolved by reading, and never causes a break of the successor.
   * @throws {StoreError} if it stays unknown whether the term is broken; the message says how to try again.
   */
  break(election: string, options: BreakOptions): Promise<BreakOutcome>;

  /**
   * Asks the present leader to drain, and transfers the leadership to one candidate. Settles when the outcome is known. Waits
   * failures out while the transfer may be under way. A transfer replaces a reservation.
   * @throws {UnsupportedError} where `capabilities.transfer` is undefined.
   * @throws {PausedError} while the election is paused.
   */
  transfer(election: string, candidateId: string, options: TransferOptions): Promise<TransferOutcome>;

  /**
   * Mends an election whose record was deleted or restored, so that its terms would repeat. The next term is at least `minTerm`,
   * after a hold of one lease: the former holder may still believe that it leads. A lease that is held is not changed: break it
   * first.
   * @throws {UnsupportedError} unless `capabilities.repair`; the message names what to do instead.
   * @throws {ConfigurationError} for a `minTerm` that is not above every term that the store or this process knows.
   */
  repair(election: string, options?: RepairOptions): Promise<RepairOutcome>;

  /**
   * Pauses an election: no candidate may acquire until `resume`. A present leader goes on; `break` ends its term, and leaves the
   * pause. Occurrences can still be claimed. A candidate of an older version refuses the record as foreign.
   * @throws {UnsupportedError} unless `capabilities.pause`.
   */
  pause(election: string, options: PauseOptions): Promise<PauseOutcome>;

  /** Lifts a pause, and changes nothing else. @throws as `pause`. */
  resume(election: string, options?: AdminCallOptions): Promise<ResumeOutcome>;

  /** Returns a new store for the occurrences of the schedule `election`. It remembers its observations while it is used. */
  occurrences?(election: string, options: OccurrenceOptions): OccurrenceStore;
}

/**
 * A store whose elections are the occurrences of one schedule. The term of a claim is the number of the attempt. An occurrence
 * can be completed once, for good. Its record may be deleted `retentionMs` after its last write.
 */
export interface OccurrenceStore extends LeaseStore {
  /** Frees exactly this term because its occurrence is done, for good. A second or late call is harmless. */
  complete(lease: Lease, options: CompleteOptions): Promise<ReleaseOutcome>;
}

/**
 * How a candidate finds that a lease has expired, on a store that does not judge expiry itself.
 * - `observed` (default): this process has observed the same nonce for the whole duration of the lease.
 * - `store-clock`: the store's own clock counts as well, so that a process without memory can find an expiry.
 */
export type Expiry = "observed" | "store-clock";

export interface RequestLimits {
  /** The limit in milliseconds: of a whole renewal, publication or release (see `shareLimits`), or of each other request. */
  readonly timeoutMs: number;
}

export interface AcquireRequest extends RequestLimits {
  readonly election: string;
  readonly candidateId: string;
  readonly value?: string | undefined;
  readonly leaseDurationMs: number;
  /** The interval at which the holder will renew. It is published, so that standbys know when to poll. */
  readonly renewIntervalMs: number;
  readonly minTerm?: number | undefined;
  /** The highest term that this process has observed. The new term must be above it, or the store has gone back. */
  readonly aboveTerm?: number | undefined;
  readonly expiry?: Expiry | undefined;
  readonly reservation?: Reservation | undefined;
}

/**
 * While an election has no leader, only the candidates of one group may acquire. The time counts by the store's clock from the
 * last acquisition of that group, or from its renewals and releases where those change the record.
 */
export interface Reservation {
  readonly group: string;
  readonly durationMs: number;
}

export interface CompleteOptions extends RequestLimits {
  /** The facts to record in the same write, at most `maxValueBytes` as JSON. A snapshot shows them beside `done`. */
  readonly completion?: Completion | undefined;
}

export interface ReleaseOptions extends RequestLimits {
  /** No candidate may acquire for this time after the release, in milliseconds. */
  readonly holdMs?: number | undefined;
}

export interface OccurrenceOptions {
  /** The least time for which an occurrence is kept after its last write, in milliseconds. */
  readonly retentionMs: number;
}

/** A lease as its holder knows it. Only the store that issued it can renew or release it. */
export interface Lease {
  readonly election: string;
  readonly candidateId: string;
  readonly term: number;
  /** Random, one per acquisition. */
  readonly termId: string;
  readonly leaseDurationMs: number;
  /** The instant before the winning request was sent. The holder counts its lease from that instant. */
  readonly grantedAt: Instant;
}

/** The part of a lease, or of its leadership, that a fence compares. */
export type Fenced = Pick<Lease, "election" | "term" | "termId">;

export type AcquireOutcome =
  | { readonly acquired: true; readonly lease: Lease }
  | { readonly acquired: false; readonly current?: LeaseSnapshot | undefined };

export type RenewOutcome =
  | {
      readonly held: true;
      /** The instant before the request that extended the lease was sent; absent where the call did not extend it. */
      readonly extendedAt?: Instant | undefined;
      /** Set when an administrator asks for a transfer to this candidate: drain, then release. */
      readonly transferTo?: string | undefined;
    }
  | {
      readonly held: false;
      readonly reason: Extract<LossReason, "taken" | "broken" | "missing">;
      /** True where standbys still wait until the lease runs out. The holder can use that time to drain. */
      readonly barredUntilExpiry: boolean;
      /** For people: the candidate that took the lease, or the reason of the break. */
      readonly explanation: string;
    };

/**
 * - `not-held`: the lease was no longer ours; nothing was changed.
 * - `unconfirmed`: a read shows our release, but a failover may undo it. Then the lease expires by itself.
 */
export type ReleaseOutcome = "released" | "unconfirmed" | "not-held";

export interface ReadOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly expiry?: Expiry | undefined;
  /** The highest term that the caller has observed, for stores whose service keeps no term without a leader. */
  readonly knownTerm?: number | undefined;
}

export interface CheckOptions {
  /** The election whose record is read, and is the target of the write whose condition must fail. */
  readonly election: string;
  /** The longest time of each of the two requests, in milliseconds. @defaultValue 5_000 */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * False: the check does not reject settings that may lose leases, and does not read `fenceTerm`. Electors pass false, and log
   * the warnings of {@link LeaseStore.inspect}. @defaultValue true
   */
  readonly settings?: boolean | undefined;
}

/** The times that the store took to answer, in milliseconds. Compare them with `attemptTimeoutMs`. */
export interface CheckReport {
  readonly readMs: number;
  readonly writeMs: number;
  /** The term that a separate fence remembers. A later read shows it or a higher one, unless a backup was restored. */
  readonly fenceTerm?: number | undefined;
  readonly warnings?: readonly string[] | undefined;
}

export interface WatchOptions {
  readonly signal: AbortSignal;
}
