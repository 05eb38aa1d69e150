import type { Leadership, LeaseStore } from "@leasehold/core";
import type { Network, ProcessClock } from "@leasehold/core/testing";

/** The election that every simulation is about. */
export const ELECTION = "nightly-billing";

/** How much faster than the true time any clock may run: rivals may hold a lease that much sooner. */
export const FASTEST_RATE = 1.05;
export const SLOWEST_RATE = 0.95;

/** One store as one process uses it. */
export interface StoreAccess {
  readonly store: LeaseStore;
  /** Called before the work, where the fence needs it. */
  seal(leadership: Leadership): Promise<void>;
  /** Adds one more entry to the register that leaderships guard. @throws if the service refuses it, or the network fails. */
  write(leadership: Leadership, entry: string): Promise<void>;
}

/** A term that begins. */
export interface Grant {
  readonly term: number;
  readonly termId: string;
  readonly candidateId: string;
  /** Until when the term before it barred others, by the fastest of clocks; and who held that one. */
  readonly barredUntilMs?: number | undefined;
  readonly heldBy?: string | undefined;
  /** The bar at that moment, by the fastest of clocks. */
  readonly barredBy?: Bar | undefined;
  /** An administrator has lifted what would bar after the term before. */
  readonly lifted?: boolean | undefined;
}

/** It was nobody's turn yet, or another candidate's. */
export interface Bar {
  readonly kind: "hold" | "turn";
  /** What bars it, or whose turn it is. */
  readonly by: string;
}

/** The service's record of one occurrence, as far as anybody here looks at it. */
export interface Claim {
  /** The number of the last attempt at it. */
  readonly term: number;
  /** Who has claimed it; null once it was given back, or is done. */
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

/** The state of the service as it is seen from outside, all of it at once. */
export interface ServiceView {
  /** An occurrence was claimed, given back, renewed or completed. */
  claimed: (occurrence: string, before: Claim | undefined, after: Claim) => void;
  /** A candidate took a place in the queue. */
  joined: (place: JoinedPlace) => void;
  /** A new term was named, to be led by whoever holds this termId. */
  granted: (grant: Grant) => void;
  /** An administrator's order was carried out on a term; its mark is the reason of a break, or the time-out of a transfer. */
  ordered: (mark: string, term: number) => void;
  /** The holder of a broken term wrote as if it were not. */
  wroteBroken: (term: number) => void;
  /** Of two writes of the record neither has replaced the other. */
  forked: (what: string) => void;
  /** A failover has undone what was written since the replica was cut off. `term` is that of the election's record now. */
  rolledBack: (term: number, claims: ReadonlyMap<string, Claim | undefined>) => void;
  /** A guarded write was accepted. */
  wrote: (write: { readonly term: number; readonly entry: string }) => void;
}

/** A view that nobody looks at yet. */
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
 * How a request can fail, as far as its process can tell: the connection broke, was never made, the service was too busy,
 * or this process may not ask.
 */
export type RequestFailure = "reset" | "refused" | "throttled" | "denied";

/** What befalls a store whose elections are queues, beyond what befalls every one. */
export interface QueueFaults {
  /** How late the service may find that a lease has run out, after all that may have befallen it. */
  readonly foundLateMs: number;
  /**
   * The service's members elect another leader.
   * @param unheardBy whose member the former one was, and does not hear of it before {@link heal}, or by chance.
   */
  electLeader(unheardBy: ProcessClock | undefined): void;
  heal(): void;
  /** Ends the session of the candidate at this place in the queue. Returns its term, if there was one. */
  revoke(index: number): number | undefined;
  /** A candidate of this process has a place in the queue. */
  hasPlace(process: ProcessClock, candidateId: string): boolean;
  /** Forgets the history that watches begin from. */
  compact(): void;
  /** All watches stand still, and nobody is told. */
  stall(): void;
  /** A program in Go joins, leads for so long once it is its turn, and resigns or dies. */
  joinInGo(leadsForMs: number, dies: boolean, ttlS: number): void;
  /** All is well from now on, and programs in Go leave. */
  calmDown(): void;
}

/** What may befall a connection, until it is closed: no answer any more, or none to a write but that it is refused. */
export type ConnectionFault = "dead" | "read-only";

/** The connections by which processes reach a store. */
export interface ConnectionFaults {
  /** It befalls all that are open at present, of one process or of all. New ones are well. */
  befall(fault: ConnectionFault, process?: ProcessClock): void;
}

/** What may befall one member of a store that is made of three. */
export type MemberFault = "down" | "refuses" | "hangs" | "lags" | "wiped" | "rolled back";

/** The members of a store that is made of three, of which one at a time fails. */
export interface MemberFaults {
  /** How many requests one of the store's takes. */
  readonly count: number;
  /** Lets one fail, unless another one has, or had a moment ago. Returns whether it did. */
  fail(member: number, how: MemberFault): boolean;
  /** It is well again; what it has forgotten stays so. */
  mend(member: number): void;
  /**
   * Gives one an empty store in place of its own, for processes that start from now on. Returns false where it cannot be yet.
   * @param laggards how likely each of them but the first has the former one all the same.
   * @param leaves nobody reaches that any more.
   */
  replace(member: number, laggards: number, leaves: boolean): boolean;
  /**
   * For so long, those who have the former store do not reach some of the other members, and everybody else does not reach the
   * others of these.
   */
  split(forMs: number): void;
  /** Whether a majority has kept all that was written once, and never again: fewer were emptied, or given an empty store. */
  readonly keepsAll: boolean;
  /** Gives nobody a store any more that was replaced. Returns who has one. */
  endFormer(): ReadonlySet<ProcessClock>;
  /** All is well from now on. */
  calmDown(): void;
}

/** A service in virtual time, of one kind. */
export interface SimulatedStore {
  readonly view: ServiceView;
  /** The service as one more process reaches it. */
  connect(process: ProcessClock, network: Network): StoreAccess;
  /** The service as an administrator's process reaches it, where that differs from a candidate's. */
  administer?(process: ProcessClock, network: Network): StoreAccess;
  /**
   * Until when, by the true time, nobody else can be given the lease, as the service stands now, if every clock runs as
   * fast as it may. -Infinity: somebody else may have it at once, or has it.
   */
  barredUntilMs(termId: string): number;
  /** The error by which the store's SDK, or its provider, tells of such a failure. */
  failure(how: RequestFailure, operation: string, retryAfterMs: number): Error;
  /** Its `LeaseStore` has occurrences that a process without a memory can take over. */
  readonly keepsOccurrences: boolean;
  /** Somebody is named as the holder at present. */
  readonly held: boolean;
  /** Destroys what is stored, in a way that shows; returns what puts it back as it was, if there was anything. */
  corrupt(): (() => void) | undefined;
  /** Sets the service's own clock, where candidates are told the time by it. */
  stepClock?(ms: number): void;
  /** Where its elections are queues. */
  readonly faults?: QueueFaults | undefined;
  /** Where processes reach it by a pool of connections each. */
  readonly connections?: ConnectionFaults | undefined;
  /** Where several stores make one: what befalls one of them. */
  readonly members?: MemberFaults | undefined;
  /** Another server takes over, whose clock is so far ahead. What was not acknowledged while the replica was cut off is gone. */
  failOver?(aheadMs: number): void;
  /** The replica is cut off: writes are shown, and not acknowledged, until it rejoins or takes over. */
  cutOff?(): void;
  rejoin?(): void;
  readonly isCutOff?: boolean;
}

/** The mark of a transfer, by which its order is known again: its time-out, to the microsecond. */
export function transferMark(timeoutMs: number): string {
  return `for ${timeoutMs.toFixed(3)} ms`;
}
