import type { StoreWarnings } from "../reporting/store-warnings.ts";
import type { LeaseSnapshot } from "./lease-snapshot.ts";
import type { Clock, Instant } from "../time/clock.ts";
import type { LossReason } from "../reporting/errors.ts";
import type { StoreMember } from "./store-members.ts";
import type { LeaseStoreCapabilities } from "./capabilities.ts";
import type { JoinOptions, Place } from "./place.ts";

/**
 * A store that can hold one lease per election: the contract between the elector and a provider.
 *
 * "Held by someone else" is a return value. What throws is a `StoreError` (nothing is known, or nothing happened), a
 * `ForeignRecordError` or a `TermRegressedError`. A store never retries by itself: one call is one attempt, bounded by
 * `timeoutMs`.
 */
export interface LeaseStore {
  /** For messages and telemetry, for instance `azure-blob`. */
  readonly name: string;
  /** The abilities and limits of this store, as data. */
  readonly capabilities: LeaseStoreCapabilities;
  /** What the store itself has to warn a person of: it leaves by the loggers of the electors and observers on it. */
  readonly warnings?: StoreWarnings | undefined;
  /** The clock by which it says when a lease was granted; whoever uses it goes by the same. @defaultValue the system's */
  readonly clock?: Clock | undefined;

  /**
   * One attempt to take the lease where it is vacant or has expired. A win raises the term above every earlier one of
   * this election. A win whose reply was lost is recognised, or released as soon as it is seen: it is never left to
   * bar everyone until it expires.
   * @throws {TermRegressedError} when the new term would not be above `aboveTerm`; nothing was written.
   */
  acquire(request: AcquireRequest): Promise<AcquireOutcome>;

  /**
   * Where the store has a queue: the place of one candidate in it, which is taken by asking for its turns. A candidate that
   * waits for its turn does so here; one that does not wait calls `acquire`.
   */
  join?(request: AcquireRequest, options: JoinOptions): Place;

  /**
   * One attempt to renew. Sends one request, and more only where that one meets another write: a read, and the renewal
   * anew. What an earlier call has learnt is not asked for again.
   */
  renew(lease: Lease, limits: RequestLimits): Promise<RenewOutcome>;

  /** Changes what observers read as the leader's value, without changing the term. */
  publish(lease: Lease, value: string, limits: RequestLimits): Promise<RenewOutcome>;

  /** Frees this very term and no other. Doing it twice, or late, harms nobody. */
  release(lease: Lease, options: ReleaseOptions): Promise<ReleaseOutcome>;

  /** Called when a term is over without having been released: what the store does for it may stop. Sends nothing. */
  forget?(lease: Lease): void;

  /**
   * Returns the lease as far as the store and the sightings of this process show it; `undefined` if there never was a record.
   */
  read(election: string, options?: ReadOptions): Promise<LeaseSnapshot | undefined>;

  /**
   * Returns the time that a standby should wait before its next poll: no longer than `retryPeriodMs` where the store cannot
   * push, and aimed just after the next instant at which the lease can be found renewed or expired. An aim, never a proof.
   */
  nextLookMs(election: string, retryPeriodMs: number): number;

  /**
   * Reaches the store, and proves the right to write by a write whose condition must fail: nothing is changed. For
   * candidates, deployments and doctors; who only reads needs less. It says nothing of fences that are records of their own:
   * to touch one, it would have to wait for the leader's transactions.
   * @throws {StoreError} if either fails. {ConfigurationError} if the store carries the write out all the same.
   */
  check(options: CheckOptions): Promise<CheckReport>;

  /**
   * Returns what a person should know of the service's settings and of this process's way to it: above all by which of them the service
   * may lose what it has acknowledged. A sentence each, with the remedy. One request that changes nothing. Electors ask once, as they begin to campaign, and warn; `check` has the same as `warnings`.
   * @throws {StoreError} where the service does not answer, or its layout cannot hold leases.
   */
  inspect?(options: CheckOptions): Promise<readonly string[]>;

  /**
   * Returns the members of a store that is made of several, as this process has found them last. Sends nothing.
   */
  members?(): readonly StoreMember[];

  /**
   * Has a member taken in that was emptied or restored, and brings it these elections' records. Only on stores whose members keep records.
   * @throws {ConfigurationError} where a person has to decide first, with what to do.
   */
  heal?(
    member: string,
    elections?: readonly string[],
    options?: { readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): Promise<void>;

  /**
   * Yields wake-ups, which carry nothing; only on stores whose `capabilities.watch` is `push`. The first comes once the watch stands: from
   * then on each acquisition, release and break makes another one. Renewals and publications make none. Wake-ups may be merged, come late, be
   * lost, or come for nothing, so a caller goes on polling: a wake-up is a reason to poll now. Ends when the signal aborts.
   */
  watch?(election: string, options: WatchOptions): AsyncIterable<void>;

  /**
   * Yields a wake-up when a held lease may be gone, for its holder to renew at once. As of {@link watch}: wake-ups may be lost, or come for
   * nothing. Begins anew by itself where it breaks. Ends when the signal aborts.
   */
  watchLease?(lease: Lease, options: WatchOptions): AsyncIterable<void>;

  /**
   * Forces a re-election: renewal is closed at once, and nobody may acquire until the old lease's remaining time has
   * passed, so that there are never two valid leaders. The next acquisition raises the term, not the break. Whatever else
   * bars candidates is lifted, whoever holds the lease or nobody: a transfer, a hold, a reservation. A pause stays: `resume` lifts it.
   *
   * A lost reply is resolved by reading, and never becomes a second break of the successor.
   * @throws {StoreError} if it is not known in the end whether the term is broken; the message tells how to try again.
   */
  break(election: string, options: BreakOptions): Promise<BreakOutcome>;

  /**
   * Asks the present leader to drain and hand over to one candidate; settles when it is known how that went. Failures on
   * the way are waited out, for as long as the hand-over may still be under way.
   * It takes the place of a reservation: once its time is over any group may acquire.
   * @throws {UnsupportedError} where `capabilities.transfer` is undefined. {PausedError} while the election is paused.
   */
  transfer(election: string, candidateId: string, options: TransferOptions): Promise<TransferOutcome>;

  /**
   * Mends an election whose record was deleted or restored, so that its terms would repeat: the next term is `minTerm` at least.
   * The record becomes a vacated one, held for one lease, since the former holder may still believe in its own. A lease that is
   * held is left as it is: break it first.
   * @throws {UnsupportedError} unless `capabilities.repair`; the message names what to do instead.
   * {ConfigurationError} for a `minTerm` that is not above every term that can be seen.
   */
  repair(election: string, options?: RepairOptions): Promise<RepairOutcome>;

  /**
   * Pauses an election: no candidate may acquire until `resume`. A present leader goes on, and `break` ends it; a break lifts no
   * pause. The occurrences of a schedule are claimed all the same. An election that is paused already keeps its first pause.
   * A candidate of an older version refuses the record of a paused election as foreign.
   * @throws {UnsupportedError} unless `capabilities.pause`.
   */
  pause(election: string, options: PauseOptions): Promise<PauseOutcome>;

  /** Lifts a pause, and nothing else. It needs no term, and makes no record where there is none. @throws as `pause`. */
  resume(election: string, options?: ResumeOptions): Promise<ResumeOutcome>;

  /**
   * Returns the occurrences of the schedule of `election`, where this service can keep them: a new store each time, which
   * remembers what it has seen for as long as it is used, so that a process that lives long does not gather every
   * occurrence there ever was.
   */
  occurrences?(election: string, options: OccurrenceOptions): OccurrenceStore;
}

/**
 * A store whose elections are the occurrences of one schedule. Each can be claimed like any lease, its term being the
 * number of the attempt, and be completed, once and for good. Unlike an election's record, an occurrence's may be deleted
 * `retentionMs` after its last write.
 */
export interface OccurrenceStore extends LeaseStore {
  /**
   * Frees this very term because its occurrence is done: nobody may claim that again. Doing it twice, or late, harms nobody.
   */
  complete(lease: Lease, limits: RequestLimits): Promise<ReleaseOutcome>;
}

/**
 * The way to know that a lease has expired, on a store that does not judge that itself.
 * - `observed` (default): once this process has seen the same nonce for its whole duration.
 * - `store-clock`: by the store's own clock as well, where it has one, so that a process with no memory can know.
 */
export type Expiry = "observed" | "store-clock";

/** Bounds of one call. */
export interface RequestLimits {
  /**
   * The longest that a renewal, a publication or a release may take, all its requests together; see `shareLimits`. Of any
   * other call, the longest that each of its requests may take.
   */
  readonly timeoutMs: number;
}

/** The facts that an acquisition needs. */
export interface AcquireRequest extends RequestLimits {
  readonly election: string;
  readonly candidateId: string;
  readonly value?: string | undefined;
  readonly leaseDurationMs: number;
  /** The grid on which the holder will renew; published, so that standbys know when to look. */
  readonly renewIntervalMs: number;
  /** The new term is at least this. */
  readonly minTerm?: number | undefined;
  /** The highest term this process has seen: the new one must be above it, else the store's record has gone back. */
  readonly aboveTerm?: number | undefined;
  readonly expiry?: Expiry | undefined;
  /** The candidate's group, and for how long it keeps the election to its own members. */
  readonly reservation?: Reservation | undefined;
}

/**
 * Keeps an election, while nobody holds its lease, to the candidates of one group. It counts from the last sign of life
 * of a holder of that group (its acquisition; where renewals and releases change the record, those too), by the store's
 * clock. It decides whose turn it is; what keeps two from leading at once is the lease.
 */
export interface Reservation {
  /** Named like an election. */
  readonly group: string;
  readonly durationMs: number;
}

export interface ReleaseOptions extends RequestLimits {
  /** Nobody may acquire for so long after the release. */
  readonly holdMs?: number | undefined;
}

export interface OccurrenceOptions {
  /** The least time for which an occurrence is kept after its last write. */
  readonly retentionMs: number;
}

/** A lease as its holder knows it. Only the store that gave it out can renew or release it. */
export interface Lease {
  readonly election: string;
  readonly candidateId: string;
  /** The fencing token: above every earlier term of this election. */
  readonly term: number;
  /** Random, one per acquisition; what a fence compares beside the term. */
  readonly termId: string;
  readonly leaseDurationMs: number;
  /** From before the request that won was sent: what the holder counts its lease from. */
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
      /** From before the request that extended the lease was sent; absent where the call did not extend it. */
      readonly extendedAt?: Instant | undefined;
      /** Set when an administrator asks for a hand-over: drain, then release. */
      readonly transferTo?: string | undefined;
    }
  | {
      readonly held: false;
      readonly reason: Extract<LossReason, "taken" | "broken" | "missing">;
      /** True where standbys still wait until the lease runs out, so that the rest of it can be used to drain. */
      readonly barredUntilExpiry: boolean;
      /** For people: who took it, or why it was broken. */
      readonly explanation: string;
    };

/**
 * - `not-held`: the lease was no longer ours; nothing was changed.
 * - `unconfirmed`: a read shows our release, on a store where a failover may still undo that: then the lease expires by itself.
 */
export type ReleaseOutcome = "released" | "unconfirmed" | "not-held";

export interface ReadOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly expiry?: Expiry | undefined;
  /** The highest term that the caller has seen: for a store whose service keeps none of an election that nobody leads. */
  readonly knownTerm?: number | undefined;
}

export interface CheckOptions {
  /** The election whose record is read, and competed for in vain. */
  readonly election: string;
  /** Of each of the two requests. @defaultValue 5_000 */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The times that the store took to answer, in milliseconds: compare them with `attemptTimeoutMs`. */
export interface CheckReport {
  readonly readMs: number;
  readonly writeMs: number;
  /** As of {@link LeaseStore.inspect}, where the store has that. */
  readonly warnings?: readonly string[] | undefined;
}

export interface WatchOptions {
  readonly signal: AbortSignal;
}

export interface BreakOptions {
  /** The reason, recorded for people who ask later. */
  readonly reason: string;
  /** Break only this term, and never a successor by mistake. Default: the term found by reading first. */
  readonly ifTerm?: number | undefined;
  /** Do not wait for the lease to run out. The old leader may still believe in itself: then only fencing protects. */
  readonly immediate?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
}

/**
 * `broken`: the term is closed, or what barred candidates is lifted; or the reply was lost, and the term has ended since.
 * `current` is what was found where there was nothing to break.
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
  /** False where the election was paused already. */
  readonly isNew: boolean;
  readonly reason: string;
  /** The time of the pause by the wall clock of its administrator, in milliseconds since the Unix epoch. */
  readonly sinceMs?: number | undefined;
}

export type ResumeOptions = Omit<PauseOptions, "reason">;

export interface ResumeOutcome {
  /** False where the election was not paused. */
  readonly resumed: boolean;
}

export interface RepairOptions {
  /**
   * The least that the next term may be: above every term that a process or a fenced resource has seen. Round it up generously.
   * @defaultValue 1,000 above the highest term that the record, its fence or this process shows; without any it must be given
   */
  readonly minTerm?: number | undefined;
  /**
   * The longest lease that the former holder may have had, in milliseconds: nobody acquires before it has passed.
   * @defaultValue that of the record as this process has seen it, else 60,000
   */
  readonly leaseDurationMs?: number | undefined;
  /** The longest that each of its requests may take, in milliseconds. @defaultValue 5_000 */
  readonly timeoutMs?: number | undefined;
}

/** `current` is what was found where the lease is held, so that nothing was changed. */
export type RepairOutcome =
  | {
      readonly repaired: true;
      /** The least that the next term is. */
      readonly minTerm: number;
      /** Nobody may acquire for so long from the repair on. */
      readonly holdMs: number;
    }
  | { readonly repaired: false; readonly current: LeaseSnapshot };

export interface TransferOptions {
  /** Ask only this term to end. Default: the term found by reading first. */
  readonly ifTerm?: number | undefined;
  /**
   * The time for which only the named candidate may acquire, once the lease is free; ten minutes at most. @defaultValue 30_000
   */
  readonly transferTimeoutMs?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * - `accepted`: the named candidate leads.
 * - `expired`: it did not acquire in time; anyone may.
 * - `lost`: the term was no longer the one to end, or somebody else leads, or the election was paused meanwhile.
 */
export type TransferOutcome = "accepted" | "expired" | "lost";
