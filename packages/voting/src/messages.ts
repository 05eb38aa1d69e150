import type { Ordered } from "./orders.ts";

/** A claim: may this candidate have this term? A `trial` is the pre-vote, which changes nothing anywhere. */
export interface Elect {
  readonly kind: "ELECT";
  readonly election: string;
  readonly trial: boolean;
  readonly term: number;
  readonly termId: string;
  readonly candidateId: string;
  readonly leaseDurationMs: number;
  /** The latest LEAD that the claimant's own server has heard. */
  readonly heard: Heard;
  /** That LEAD was its own. */
  readonly hasLed: boolean;
  /** Its last claim came to nothing though it was not refused: so may this one, and others are preferred. */
  readonly hasFailed: boolean;
  /** The longest that the answer to a trial may be held, in milliseconds. */
  readonly holdMs: number;
  /**
   * The time that the claim takes, as far as the claimant can know, in milliseconds: until then no other trial is granted. A trial
   * with 0 withdraws the one before it.
   */
  readonly claimMs: number;
}

/** The latest sign of a leader that a server has heard; zeros for none. */
export interface Heard {
  readonly term: number;
  readonly number: number;
}

/** A leader's heartbeat. A voter that has taken it votes for nobody for the lease that it names. */
export interface Lead {
  readonly kind: "LEAD";
  readonly election: string;
  readonly term: number;
  readonly termId: string;
  /** Rises with each LEAD of a term: an older one extends nothing. */
  readonly number: number;
  readonly candidateId: string;
  readonly value?: string | undefined;
  readonly leaseDurationMs: number;
}

/** A leader's validity has ended: what its LEADs have barred is free, but for the hold. */
export interface Release {
  readonly kind: "RELEASE";
  readonly election: string;
  readonly term: number;
  readonly termId: string;
  /** That of its last LEAD. */
  readonly number: number;
  readonly leaseDurationMs: number;
  readonly holdMs: number;
  /** Whom it was asked to hand over to. */
  readonly handover?: Handover | undefined;
}

/** An administrator ends a term: no LEAD of it is taken any more. */
export interface Break extends Broken {
  readonly kind: "BREAK";
  readonly election: string;
  readonly term: number;
}

/** An administrator asks the leader of a term to hand over. */
export interface Transfer extends Handover {
  readonly kind: "TRANSFER";
  readonly election: string;
  readonly term: number;
}

/** By what an administrator's order to a term is told from others. */
export interface OrderNumber {
  readonly id: string;
  /**
   * Above that of every order to this term that its administrator has found, and the wall clock's milliseconds: a voter takes none
   * that is not the latest.
   */
  readonly number: number;
}

/** The order that has ended a term. */
export interface Broken extends OrderNumber {
  readonly reason: string;
  /** What its LEADs have barred is free at once, though its leader may not know yet. */
  readonly immediate: boolean;
}

/** The order to hand a term over. */
export interface Handover extends OrderNumber {
  /** Nobody else is voted for, until so long after the lease and a hold are over. */
  readonly candidateId: string;
  readonly timeoutMs: number;
}

/** Who leads? */
export interface Read {
  readonly kind: "READ";
  readonly election: string;
}

/** What has to be known to begin, or to begin again after a loss? */
export interface Tell {
  readonly kind: "TELL";
}

/** Is the server there, and does it take part? Servers ask each other every few seconds. */
export interface Ping {
  readonly kind: "PING";
}

/** A request about one election. */
export type ElectionRequest = Elect | Lead | Release | Break | Transfer | Read;
export type Request = ElectionRequest | Tell | Ping;

/** The answer to ELECT. */
export interface Vote {
  readonly kind: "VOTE";
  readonly granted: boolean;
  /** The voter's term. */
  readonly term: number;
  /** For how long it will go on refusing, as far as it knows. */
  readonly waitMs: number;
  /** The leader that it has heard last. */
  readonly sign?: Sign | undefined;
}

/** The answer to LEAD, to RELEASE, to BREAK and to TRANSFER. */
export interface Acknowledgement {
  readonly kind: "LEAD" | "RELEASE" | "BREAK" | "TRANSFER";
  readonly taken: boolean;
  readonly term: number;
  /** Why no LEAD of that term is taken. */
  readonly broken?: Broken | undefined;
  /** Whom the leader of that term is asked to hand over to. */
  readonly handover?: Handover | undefined;
}

/** The answer to READ. */
export interface Sighted {
  readonly kind: "READ";
  readonly sign?: Sign | undefined;
  /** The other servers that take no part, as it knows them. */
  readonly absent: readonly PeerState[];
}

/** The answer to TELL. */
export interface Told {
  readonly kind: "TELL";
  /** It has not begun: it is new, or has lost what it knew. */
  readonly forgot: boolean;
  /** It has begun, and neither voted nor taken a LEAD since. */
  readonly isFresh: boolean;
  readonly floor: number;
  readonly clockFloor: number;
  /** The term of each election that it keeps; every other one's is at most the floor. */
  readonly terms: Readonly<Record<string, number>>;
  /** The orders to those terms, where there were any. */
  readonly orders: Readonly<Record<string, Ordered>>;
  /** The longest lease that it knows of. */
  readonly longestLeaseMs: number;
}

/** A server that takes no part. */
export interface PeerState {
  readonly name: string;
  readonly why: string;
  readonly forMs: number;
}

/** The answer to PING. */
export interface Pong {
  readonly kind: "PING";
  readonly takesPart: boolean;
  /** The time that a sync of its disk takes, in milliseconds. */
  readonly syncMs: number;
  /** The other servers that take no part, as it knows them. */
  readonly absent: readonly PeerState[];
}

/** It may not say anything: it has lost its disk, or does not know yet whether it has. */
export interface Silent {
  readonly kind: "SILENT";
}

export type Answer = Vote | Acknowledgement | Sighted | Told | Pong | Silent;

/** The last leader that a server has heard. */
export interface Sign {
  readonly term: number;
  readonly number: number;
  readonly candidateId: string;
  readonly value?: string | undefined;
  readonly leaseDurationMs: number;
  /** The time since its last LEAD arrived. */
  readonly ageMs: number;
  readonly released: boolean;
  /** What is left of a hold. */
  readonly holdMs: number;
  readonly broken?: Broken | undefined;
  readonly handover?: HandoverLeft | undefined;
  /** The candidate that it has voted for since, and that may still come to lead by that. */
  readonly votedFor?: string | undefined;
}

/** The order to hand a term over, and for how long nobody else is voted for. */
export interface HandoverLeft extends Handover {
  readonly leftMs: number;
}

/** The name of whoever is no server. */
export const OBSERVER = "";

/** What goes from one server to another, and back. */
export interface Envelope<Content> {
  /** The names of all servers, hashed: those whose lists differ do not work together. */
  readonly cluster: string;
  readonly from: string;
  readonly to: string;
  /** Random, one for each start of the sender. */
  readonly start: string;
  /** The receiver's start, as far as the sender knows it: a message for an earlier one is not carried out. */
  readonly toStart: string | undefined;
  /** How often the sender has written to its disk, and the most that it knows of the receiver. */
  readonly writes: number;
  readonly seen: number;
  readonly content: Content;
}
