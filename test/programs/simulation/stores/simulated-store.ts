import type { Leadership, LeaseStore } from "@leasehold/core";
import type { Network, ProcessClock } from "@leasehold/core/testing";

/** The election of every simulation. */
export const ELECTION = "nightly-billing";

/** The rate of the fastest clock. Rivals may hold a lease sooner by this factor. */
export const FASTEST_RATE = 1.05;
export const SLOWEST_RATE = 0.95;

/** One store as one process uses it. */
export interface StoreAccess {
  readonly store: LeaseStore;
  /** Called before the work, if the fence needs it. */
  seal(leadership: Leadership): Promise<void>;
  /** Adds one entry to the register that the fence guards. @throws if the service refuses it, or the network fails. */
  write(leadership: Leadership, entry: string): Promise<void>;
}

/** A term that begins. */
export interface Grant {
  readonly term: number;
  readonly termId: string;
  readonly candidateId: string;
  /** The time until which the term before it blocked others, by the fastest of clocks, and the holder of that term. */
  readonly barredUntilMs?: number | undefined;
  readonly heldBy?: string | undefined;
  /** The block at that moment, by the fastest of clocks. */
  readonly barredBy?: Bar | undefined;
  /** True if an administrator has lifted the blocks after the term before. */
  readonly lifted?: boolean | undefined;
}

/** A block: no candidate may lead yet, or only another one. */
export interface Bar {
  readonly kind: "hold" | "turn";
  /** The cause of the block, or the candidate or group that may lead. */
  readonly by: string;
}

/** The parts of the service's record of one occurrence that are used here. */
export interface Claim {
  /** The number of the last attempt at it. */
  readonly term: number;
  /** The termId of its claim. Null once it was released, or is done. */
  readonly termId: string | null;
  readonly done: boolean;
}

/** A place in a queue. */
export interface JoinedPlace {
  /** Undefined for a program in Go. */
  readonly process: ProcessClock | undefined;
  readonly candidateId: string;
  /** The term that it would lead in. */
  readonly term: number;
}

/** The state of the service as seen from outside, all of it at once. */
export interface ServiceView {
  /** An occurrence was claimed, released, renewed or completed. */
  claimed: (occurrence: string, before: Claim | undefined, after: Claim) => void;
  /** A candidate took a place in the queue. */
  joined: (place: JoinedPlace) => void;
  /** A new term was named. The holder of this termId leads it. */
  granted: (grant: Grant) => void;
  /** An administrator's order was carried out on a term. Its mark is the reason of a break, or the time-out of a transfer. */
  ordered: (mark: string, term: number) => void;
  /** The holder of a broken term wrote as if it were not broken. */
  wroteBroken: (term: number) => void;
  /** Of two writes of the record neither has replaced the other. */
  forked: (what: string) => void;
  /** A failover has undone the writes since the replica was cut off. `term` is the present term of the election's record. */
  rolledBack: (term: number, claims: ReadonlyMap<string, Claim | undefined>) => void;
  /** A guarded write was accepted. */
  wrote: (write: { readonly term: number; readonly entry: string }) => void;
}

/** A view without listeners so far. */
export function newServiceView(): ServiceView {
  return {
    claimed: () => {},
    forked: () => {},
    joined: () => {},
    ordered: () => {},
    granted: () => {},
    wroteBroken: () => {},
    rolledBack: () => {},
    wrote: () => {},
  };
}

/**
 * The ways in which a request can fail for its process. The connection broke, or was never made. The service was too busy, or
 * refused the process.
 */
export type RequestFailure = "reset" | "refused" | "throttled" | "denied";

/** Faults of a store whose elections are queues, besides those of every store. */
export interface QueueFaults {
  /** The longest delay with which the service finds that a lease has expired, after any fault. */
  readonly foundLateMs: number;
  /**
   * The service's members elect another leader.
   * @param unheardBy a process whose member is the former leader. This member does not learn of it before {@link heal}, except by
   * chance.
   */
  electLeader(unheardBy: ProcessClock | undefined): void;
  heal(): void;
  /** Ends the session of the candidate at this place in the queue. Returns its term, if there was one. */
  revoke(index: number): number | undefined;
  /** True if a candidate of this process has a place in the queue. */
  hasPlace(process: ProcessClock, candidateId: string): boolean;
  /** Forgets the history that watches begin from. */
  compact(): void;
  /** All watches stop, without a report. */
  stall(): void;
  /** A program in Go joins. Once it is its turn it leads for `leadsForMs`, and resigns or dies. */
  joinInGo(leadsForMs: number, dies: boolean, ttlS: number): void;
  /** Ends all faults, and programs in Go leave. */
  calmDown(): void;
}

/** The faults of a connection, until it is closed: no answer any more, or a refusal of each write. */
export type ConnectionFault = "dead" | "read-only";

/** The connections by which processes reach a store. */
export interface ConnectionFaults {
  /** Gives a fault to all connections that are open now, of one process or of all. New ones work. */
  befall(fault: ConnectionFault, process?: ProcessClock): void;
}

/** The faults of one member of a store that consists of several. */
export type MemberFault = "down" | "refuses" | "hangs" | "lags" | "wiped" | "rolled back";

/** The members of a store that consists of several. One at a time fails. */
export interface MemberFaults {
  /** The number of members, and so of requests for one of the store's requests. */
  readonly count: number;
  /** Lets one fail, unless another one fails, or failed a moment ago. Returns whether it did. */
  fail(member: number, how: MemberFault): boolean;
  /** Ends a member's fault. Its losses stay. */
  mend(member: number): void;
  /**
   * Gives one member an empty store, for processes that start from now on. Returns false if that is not possible yet.
   * @param laggards the probability that each of these processes but the first still has the former store.
   * @param leaves true if no process reaches the former store any more.
   */
  replace(member: number, laggards: number, leaves: boolean): boolean;
  /**
   * For a while, processes with the former store do not reach some of the other members. All other processes do not reach the
   * rest of these.
   */
  split(forMs: number): void;
  /** True if a majority has always kept everything that it wrote: fewer were emptied, or got an empty store. */
  readonly keepsAll: boolean;
  /** Gives no process a replaced store any more. Returns the processes that have one. */
  endFormer(): ReadonlySet<ProcessClock>;
  /** Ends all faults. */
  calmDown(): void;
}

/** A service in virtual time, of one kind. */
export interface SimulatedStore {
  readonly view: ServiceView;
  /** The service as one more process reaches it. */
  connect(process: ProcessClock, network: Network): StoreAccess;
  /** The service as an administrator's process reaches it, if that differs from a candidate's. */
  administer?(process: ProcessClock, network: Network): StoreAccess;
  /**
   * Returns the true time until which no other candidate can get the lease, in the service's present state, by the fastest
   * clocks. Returns -Infinity if another may have it at once, or has it.
   */
  barredUntilMs(termId: string): number;
  /** Returns the error of the store's SDK, or of its provider, for such a failure. */
  failure(how: RequestFailure, operation: string, retryAfterMs: number): Error;
  /** True if its `LeaseStore` has occurrences that a process without a memory can take over. */
  readonly keepsOccurrences: boolean;
  /** True while a holder is named. */
  readonly held: boolean;
  /** Destroys the stored data in a visible way. Returns a function that restores it, if there was any. */
  corrupt(): (() => void) | undefined;
  /** Sets the service's own clock, if candidates use it. */
  stepClock?(ms: number): void;
  /** Present if its elections are queues. */
  readonly faults?: QueueFaults | undefined;
  /** Present if each process reaches it by a pool of connections. */
  readonly connections?: ConnectionFaults | undefined;
  /** Present if it consists of several stores: the faults of one of them. */
  readonly members?: MemberFaults | undefined;
  /**
   * Another server takes over, whose clock is ahead by `aheadMs`. Writes that were not acknowledged while the replica was cut off
   * are gone.
   */
  failOver?(aheadMs: number): void;
  /** The replica is cut off. Writes are shown, but not acknowledged, until it rejoins or takes over. */
  cutOff?(): void;
  rejoin?(): void;
  readonly isCutOff?: boolean;
}

/** Returns the mark by which a transfer is recognised: its time-out, to the microsecond. */
export function transferMark(timeoutMs: number): string {
  return `for ${timeoutMs.toFixed(3)} ms`;
}
