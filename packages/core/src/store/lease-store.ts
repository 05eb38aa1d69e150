import type { StoreWarnings } from "../reporting/store-warnings.ts";
import type { LeaseSnapshot } from "./lease-snapshot.ts";
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
 * `ForeignRecordError` or a `TermRegressedError`. A store never retries by itself. One call is one attempt, limited by
 * `timeoutMs`.
 */
export interface LeaseStore {
  /** For messages and telemetry, for instance `azure-blob`. */
  readonly name: string;
  /** The abilities and limits of this store, as data. */
  readonly capabilities: LeaseStoreCapabilities;
  /** The store's own warnings for people. They go to the loggers of the electors and observers that use the store. */
  readonly warnings?: StoreWarnings | undefined;
  /**
   * The clock by which the store says when a lease was granted. Electors and observers of the store use the same clock.
   * @defaultValue the system's
   */
  readonly clock?: Clock | undefined;

  /**
   * One attempt to take a lease that is vacant or has expired. A win raises the term above every earlier one of this election. If
   * the reply to a win is lost, the store later recognises the win, or releases it as soon as it reads it. Such a win is not left
   * to block everybody until it expires.
   * @throws {TermRegressedError} when the new term would not be above `aboveTerm`; nothing was written.
   */
  acquire(request: AcquireRequest): Promise<AcquireOutcome>;

  /**
   * Only where the store has a queue. Returns the place of one candidate in it, which is taken by asking for its turns. A
   * candidate that waits for its turn calls this; one that does not wait calls `acquire`.
   */
  join?(request: AcquireRequest, options: JoinOptions): Place;

  /**
   * One attempt to renew. Sends one request. Only if that one meets another write, it reads and renews again. It does not ask
   * again for facts that an earlier call has learnt.
   */
  renew(lease: Lease, limits: RequestLimits): Promise<RenewOutcome>;

  /** Changes the value that observers read for the leader, without changing the term. */
  publish(lease: Lease, value: string, limits: RequestLimits): Promise<RenewOutcome>;

  /** Frees exactly this term. A second or late call is harmless. */
  release(lease: Lease, options: ReleaseOptions): Promise<ReleaseOutcome>;

  /** Called when a term is over and was not released. The store may stop its work for that term. Sends nothing. */
  forget?(lease: Lease): void;

  /**
   * Returns the lease as the store shows it, together with what this process has observed before. Returns `undefined` if there
   * never was a record.
   */
  read(election: string, options?: ReadOptions): Promise<LeaseSnapshot | undefined>;

  /**
   * Lists the elections whose names begin with `prefix`, page by page: each entry as of its own read, and no snapshot. It is
   * unordered and has no election twice. An election that is made or changed meanwhile may be missing or old. Occurrences are not
   * listed. `state` is `unknown` where a first read says so. The names compare by code point.
   *
   * Meant for operators, and not for candidates: it may need a permission of its own, and costs more than a read.
   * @param prefix empty for all elections.
   * @throws {ConfigurationError} at once for bad input.
   * @throws {UnsupportedError} at once unless `capabilities.list`.
   * @throws {StoreError} while iterating, if a request fails. The signal's reason, once it aborts.
   */
  list(prefix?: string, options?: ListOptions): AsyncIterable<ListedElection>;

  /**
   * Returns the time that a standby should wait before its next poll. Where the store cannot push, it is at most `retryPeriodMs`.
   * It is aimed just after the next instant at which the lease can be found renewed or expired. The time is an aim, never a
   * proof.
   */
  nextLookMs(election: string, retryPeriodMs: number): number;

  /**
   * Reaches the store, and proves the right to write by a write whose condition must fail. Changes nothing. Meant for candidates,
   * deployments and diagnosis; a process that only reads needs fewer rights. It does not test fences that are records of their
   * own: a write to one would have to wait for the leader's transactions.
   * @throws {StoreError} if the read or the write fails.
   * @throws {ConfigurationError} if the store carries the write out all the same.
   */
  check(options: CheckOptions): Promise<CheckReport>;

  /**
   * Returns what a person should know about the service's settings and about this process's way to it. Above all it names
   * settings by which the service may lose acknowledged writes. Each item is one sentence, with the remedy. Sends one request
   * that changes nothing. Electors call it once, as they begin to campaign, and log the result as warnings. `check` returns the
   * same as `warnings`.
   * @throws {StoreError} where the service does not answer, or its layout cannot hold leases.
   */
  inspect?(options: CheckOptions): Promise<readonly string[]>;

  /** Returns the members of a store that is made of several, as this process found them last. Sends nothing. */
  members?(): readonly StoreMember[];

  /**
   * Admits a member that was emptied or restored, and writes the records of these elections to it. Only on stores whose members
   * keep records.
   * @throws {ConfigurationError} if a person has to decide first; the message says what to do.
   */
  heal?(
    member: string,
    elections?: readonly string[],
    options?: { readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): Promise<void>;

  /**
   * Yields wake-ups, which carry no data. Only on stores whose `capabilities.watch` is `push`. The first wake-up comes once the
   * watch stands. From then on each acquisition, release and break makes one; renewals and publications make none. A wake-up may
   * be merged with another, come late, be lost, or come without a cause. So a caller goes on polling, and takes a wake-up as a
   * reason to poll now. Ends when the signal aborts.
   */
  watch?(election: string, options: WatchOptions): AsyncIterable<void>;

  /**
   * Yields a wake-up when a held lease may be gone, so that its holder renews at once. As with {@link watch}, a wake-up may be
   * lost, or come without a cause. Restarts by itself after a failure. Ends when the signal aborts.
   */
  watchLease?(lease: Lease, options: WatchOptions): AsyncIterable<void>;

  /**
   * Forces a re-election. Renewal is closed at once. Unless the break is `immediate`, no candidate may acquire until the rest of
   * the old lease has passed. So there are never two valid leaders. The next acquisition raises the term, not the break. A break
   * also removes a transfer, a hold and a reservation, even if no candidate holds the lease. A pause stays; `resume` lifts it.
   *
   * A lost reply is resolved by reading. It never causes a break of the successor.
   * @throws {StoreError} if it stays unknown whether the term is broken; the message says how to try again.
   */
  break(election: string, options: BreakOptions): Promise<BreakOutcome>;

  /**
   * Asks the present leader to drain, and transfers the leadership to one candidate. Settles when the outcome is known. Waits
   * failures out for as long as the transfer may still be under way. A transfer replaces a reservation: once its time is over,
   * candidates of any group may acquire.
   * @throws {UnsupportedError} where `capabilities.transfer` is undefined.
   * @throws {PausedError} while the election is paused.
   */
  transfer(election: string, candidateId: string, options: TransferOptions): Promise<TransferOutcome>;

  /**
   * Mends an election whose record was deleted or restored, so that its terms would repeat. The next term is at least `minTerm`.
   * The record becomes a vacated one with a hold of one lease, because the former holder may still believe that it leads. A lease
   * that is held is not changed: break it first.
   * @throws {UnsupportedError} unless `capabilities.repair`; the message names what to do instead.
   * @throws {ConfigurationError} for a `minTerm` that is not above every term that the store or this process knows.
   */
  repair(election: string, options?: RepairOptions): Promise<RepairOutcome>;

  /**
   * Pauses an election: no candidate may acquire until `resume`. A present leader goes on; `break` ends its term. A break does
   * not lift the pause. Occurrences of a schedule can still be claimed. An election that is paused already keeps its first pause.
   * A candidate of an older version refuses the record of a paused election as foreign.
   * @throws {UnsupportedError} unless `capabilities.pause`.
   */
  pause(election: string, options: PauseOptions): Promise<PauseOutcome>;

  /** Lifts a pause, and changes nothing else. Needs no term. Creates no record where there is none. @throws as `pause`. */
  resume(election: string, options?: ResumeOptions): Promise<ResumeOutcome>;

  /**
   * Returns a store for the occurrences of the schedule `election`, where this service can keep them. Each call returns a new
   * store, which remembers its observations for as long as it is used. So a long-lived process does not collect every past
   * occurrence.
   */
  occurrences?(election: string, options: OccurrenceOptions): OccurrenceStore;
}

/**
 * A store whose elections are the occurrences of one schedule. An occurrence is claimed like any lease, and its term is the
 * number of the attempt. It can be completed once, and stays completed. Unlike the record of an election, that of an occurrence may be
 * deleted `retentionMs` after its last write.
 */
export interface OccurrenceStore extends LeaseStore {
  /**
   * Frees exactly this term because its occurrence is done. No candidate may claim the occurrence again. A second or late call is
   * harmless.
   */
  complete(lease: Lease, limits: RequestLimits): Promise<ReleaseOutcome>;
}

/**
 * The way to find that a lease has expired, on a store that does not judge that itself.
 * - `observed` (default): this process has observed the same nonce for the whole duration of the lease.
 * - `store-clock`: the store's own clock counts as well, where it has one. So a process without memory can find an expiry too.
 */
export type Expiry = "observed" | "store-clock";

/** Limits of one call. */
export interface RequestLimits {
  /**
   * For a renewal, a publication or a release: the longest time for all its requests together; see `shareLimits`. For any other
   * call: the longest time for each of its requests. In milliseconds.
   */
  readonly timeoutMs: number;
}

/** The input of an acquisition. */
export interface AcquireRequest extends RequestLimits {
  readonly election: string;
  readonly candidateId: string;
  readonly value?: string | undefined;
  readonly leaseDurationMs: number;
  /** The interval at which the holder will renew. It is published, so that standbys know when to poll. */
  readonly renewIntervalMs: number;
  /** The new term is at least this. */
  readonly minTerm?: number | undefined;
  /**
   * The highest term that this process has observed. The new term must be above it; otherwise the store's record has gone back.
   */
  readonly aboveTerm?: number | undefined;
  readonly expiry?: Expiry | undefined;
  /** The candidate's group, and the time for which it keeps the election to its own members. */
  readonly reservation?: Reservation | undefined;
}

/**
 * Keeps an election, while no candidate holds its lease, to the candidates of one group. Its time counts by the store's clock,
 * from the last sign of life of a holder of that group. An acquisition is a sign of life; where renewals and releases change the
 * record, they are too. A reservation decides whose turn it is. Only the lease keeps two candidates from leading at once.
 */
export interface Reservation {
  /** A name, by the rules of an election's name. */
  readonly group: string;
  readonly durationMs: number;
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
  /** The fencing token: above every earlier term of this election. */
  readonly term: number;
  /** Random, one per acquisition. A fence compares it beside the term. */
  readonly termId: string;
  readonly leaseDurationMs: number;
  /** The instant before the winning request was sent. The holder counts its lease from it. */
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
      /** True where standbys still wait until the lease runs out. The holder can then use the rest of the lease to drain. */
      readonly barredUntilExpiry: boolean;
      /** For people: the candidate that took the lease, or the reason of the break. */
      readonly explanation: string;
    };

/**
 * - `not-held`: the lease was no longer ours; nothing was changed.
 * - `unconfirmed`: a read shows our release, but a failover may still undo it on this store. If it does, the lease expires by
 *   itself.
 */
export type ReleaseOutcome = "released" | "unconfirmed" | "not-held";

export interface ReadOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly expiry?: Expiry | undefined;
  /**
   * The highest term that the caller has observed. Used by stores whose service keeps no term of an election without a leader.
   */
  readonly knownTerm?: number | undefined;
}

export interface CheckOptions {
  /** The election whose record is read, and is the target of the write whose condition must fail. */
  readonly election: string;
  /** The longest time of each of the two requests, in milliseconds. @defaultValue 5_000 */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The times that the store took to answer, in milliseconds. Compare them with `attemptTimeoutMs`. */
export interface CheckReport {
  readonly readMs: number;
  readonly writeMs: number;
  /** The result of {@link LeaseStore.inspect}, where the store has it. */
  readonly warnings?: readonly string[] | undefined;
}

export interface WatchOptions {
  readonly signal: AbortSignal;
}

export interface BreakOptions {
  /** The reason, recorded for people who ask later. */
  readonly reason: string;
  /** Break only this term, and never a successor by mistake. Default: the term that the first read finds. */
  readonly ifTerm?: number | undefined;
  /** Do not wait for the lease to run out. The old leader may still believe that it leads; then only fencing protects. */
  readonly immediate?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
}

/**
 * `broken`: the term is closed, or its blockers are removed. After a lost reply, also if the term has ended since. `current` is
 * what the read found where there was nothing to break.
 */
export type BreakOutcome =
  | { readonly broken: true; readonly term: number }
  | { readonly broken: false; readonly current?: LeaseSnapshot | undefined };

export interface PauseOptions {
  /** The reason, of at most 500 bytes, recorded for people who ask later. */
  readonly reason: string;
  /** The longest that each of its requests may take, in milliseconds. @defaultValue 5_000 */
  readonly timeoutMs?: number | undefined;
}

/** The pause that is in force. */
export interface PauseOutcome {
  /** False if the election was paused already. */
  readonly isNew: boolean;
  readonly reason: string;
  /** The time of the pause by the wall clock of its administrator, in milliseconds since the Unix epoch. */
  readonly sinceMs?: number | undefined;
}

export type ResumeOptions = Omit<PauseOptions, "reason">;

export interface ResumeOutcome {
  /** False if the election was not paused. */
  readonly resumed: boolean;
}

export interface RepairOptions {
  /**
   * The least next term. It must be above every term that a process or a fenced resource has seen. Round it up generously.
   * @defaultValue 1,000 above the highest term that the record, its fence or this process shows; without any it must be given
   */
  readonly minTerm?: number | undefined;
  /**
   * The longest lease that the former holder may have had, in milliseconds. No candidate may acquire before it has passed.
   * @defaultValue that of the record as this process has observed it, else 60,000
   */
  readonly leaseDurationMs?: number | undefined;
  /** The longest that each of its requests may take, in milliseconds. @defaultValue 5_000 */
  readonly timeoutMs?: number | undefined;
}

/** `current` is what the read found where the lease is held; nothing was changed. */
export type RepairOutcome =
  | {
      readonly repaired: true;
      /** The next term is at least this. */
      readonly minTerm: number;
      /** No candidate may acquire for this time after the repair, in milliseconds. */
      readonly holdMs: number;
    }
  | { readonly repaired: false; readonly current: LeaseSnapshot };

export interface TransferOptions {
  /** Ask only this term to end. Default: the term that the first read finds. */
  readonly ifTerm?: number | undefined;
  /**
   * The time for which only the named candidate may acquire once the lease is free, in milliseconds; at most ten minutes.
   * @defaultValue 30_000
   */
  readonly transferTimeoutMs?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * - `accepted`: the named candidate leads.
 * - `expired`: it did not acquire in time; any candidate may.
 * - `lost`: another candidate leads, or the term to end was over already, or the election was paused meanwhile.
 */
export type TransferOutcome = "accepted" | "expired" | "lost";
