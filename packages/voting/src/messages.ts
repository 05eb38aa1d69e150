/** One term of an election, or the claim to it. */
interface Title {
  readonly election: string;
  readonly term: number;
  readonly termId: string;
  readonly leaseDurationMs: number;
}

/** A claim: asks for this voter's vote for a term. With `trial` it is the pre-vote, which changes nothing on any disk. */
export interface Elect extends Title {
  readonly kind: "ELECT";
  readonly trial: boolean;
  readonly candidateId: string;
  /** The latest LEAD that the claimant's own server knows. */
  readonly heard: HeardCounters;
  /** The claimant's own server sent that LEAD. */
  readonly hasLed: boolean;
  /** The claimant's last claim failed, by an error or after it had won its trial. So voters prefer others. */
  readonly hasFailed: boolean;
  /** The longest time for which a voter may hold its answer to a trial, in milliseconds. */
  readonly holdMs: number;
  /**
   * The longest time that the claim takes, in milliseconds. A voter that grants it grants no other trial meanwhile. 0 withdraws
   * the trial.
   */
  readonly claimMs: number;
}

/** Identifies the latest LEAD that a server knows. Both numbers are zero if it knows none. */
export interface HeardCounters {
  readonly term: number;
  readonly number: number;
}

/** A leader's heartbeat. A voter that accepts it votes for no candidate for `leaseDurationMs`. */
export interface Lead extends Title {
  readonly kind: "LEAD";
  /** Rises with each LEAD of a term. A LEAD with a lower number extends nothing. */
  readonly number: number;
  readonly candidateId: string;
  readonly value?: string | undefined;
}

/** A leader reports that its validity has ended. Its LEADs block no candidate any more, except for the hold. */
export interface Release extends Title {
  readonly kind: "RELEASE";
  /** The number of the term's last LEAD. */
  readonly number: number;
  readonly holdMs: number;
  /** The transfer order to this term that the leader knows. */
  readonly transfer?: TransferOrder | undefined;
}

/** An administrator ends a term. A voter that has this order refuses all LEADs of the term. */
export interface Break extends Broken, Pick<Title, "election" | "term"> {
  readonly kind: "BREAK";
}

/** An administrator orders a transfer from the leader of a term to a candidate. */
export interface Transfer extends TransferOrder, Pick<Title, "election" | "term"> {
  readonly kind: "TRANSFER";
  /** The administrator knew that the term was broken. Without this, a voter that has a break refuses the order. */
  readonly afterBreak: boolean;
}

/** The order that has ended a term. */
export interface Broken {
  readonly id: string;
  readonly reason: string;
  /** The LEADs of the term stop blocking candidates at once, although the leader may not know of the break yet. */
  readonly immediate: boolean;
}

/** The order to transfer a term to a named candidate. */
export interface TransferOrder {
  readonly id: string;
  /** Voters vote for this candidate only, until `timeoutMs` after the lease and the hold have ended. */
  readonly candidateId: string;
  readonly timeoutMs: number;
}

/** Asks for the last leader that the server knows. */
export interface Read {
  readonly kind: "READ";
  readonly election: string;
}

/** Asks for all that a server must know to take part. A server asks after each start, and after a loss of its state. */
export interface StateRequest {
  readonly kind: "TELL";
}

/** Asks whether the server answers and takes part. Servers send it to each other every few seconds. */
export interface Ping {
  readonly kind: "PING";
}

/** A request about one election. */
export type ElectionRequest = Elect | Lead | Release | Break | Transfer | Read;
export type Request = ElectionRequest | StateRequest | Ping;

/** The answer to ELECT. */
export interface Vote {
  readonly kind: "VOTE";
  readonly granted: boolean;
  /** The voter votes only for terms above this one. */
  readonly term: number;
  /** The time for which the voter goes on refusing this candidate, as far as it knows, in milliseconds. */
  readonly waitMs: number;
  readonly sign?: LeaderStatus | undefined;
}

/** The answer to LEAD, RELEASE, BREAK and TRANSFER. */
export interface Acknowledgement {
  readonly kind: "LEAD" | "RELEASE" | "BREAK" | "TRANSFER";
  readonly taken: boolean;
  readonly term: number;
  /** The order that has ended the term of the LEAD. */
  readonly broken?: Broken | undefined;
  /** The transfer order to the term of the LEAD. */
  readonly transfer?: TransferOrder | undefined;
}

/** The answer to READ. */
export interface LeaderReply {
  readonly kind: "READ";
  readonly sign?: LeaderStatus | undefined;
  readonly absent: readonly PeerState[];
}

/** The answer to TELL. */
export interface StateReply {
  readonly kind: "TELL";
  /** The server has not begun: it is new, or it has lost its state. */
  readonly forgot: boolean;
  /** The server votes and acknowledges. One that does not may know less than it has acknowledged. An older version does not say it. */
  readonly takesPart?: boolean | undefined;
  /** While the server does not take part in all elections, those in which it does. An older version does not say it. */
  readonly takesPartIn?: readonly string[] | undefined;
  /** The server has begun, and has neither voted nor accepted a LEAD since. */
  readonly isFresh: boolean;
  readonly floor: number;
  readonly clockFloor: number;
  /** The term of each election that the server keeps. The term of every other election is at most `floor`. */
  readonly terms: Readonly<Record<string, number>>;
  /** The longest lease that the server knows of, in milliseconds; and that of each election. An older version does not say these. */
  readonly longestLeaseMs: number;
  readonly leases?: Readonly<Record<string, number>> | undefined;
}

/** A server that takes no part, as the answering server knows it. */
export interface PeerState {
  readonly name: string;
  readonly why: string;
  readonly forMs: number;
}

/** The answer to PING. */
export interface Pong {
  readonly kind: "PING";
  readonly takesPart: boolean;
  /** The reason why it does not take part. An older version does not say it. */
  readonly why?: string | undefined;
  /** The time that a sync of the server's disk takes, in milliseconds. */
  readonly syncMs: number;
  readonly absent: readonly PeerState[];
}

/** No answer. The server takes no part, the request is for another start of it, or the sender may not ask this. */
export interface Silent {
  readonly kind: "SILENT";
}

export type VoterReply = Vote | Acknowledgement | LeaderReply | StateReply | Pong | Silent;

/** The status of an election's last leader, as one server knows it. */
export interface LeaderStatus extends HeardCounters {
  readonly candidateId: string;
  readonly value?: string | undefined;
  readonly leaseDurationMs: number;
  /** The time since the leader's last LEAD arrived, in milliseconds. */
  readonly ageMs: number;
  readonly released: boolean;
  /** The rest of the hold, in milliseconds. */
  readonly holdMs: number;
  readonly broken?: Broken | undefined;
  readonly transfer?: TransferLeft | undefined;
  /** The candidate that the server has voted for since. It may still win by that vote. */
  readonly votedFor?: string | undefined;
}

/** A transfer order, and the time for which voters still vote for its candidate only. */
export interface TransferLeft extends TransferOrder {
  readonly leftMs: number;
}

/** The sender's name of a process that is not a server. */
export const OBSERVER = "";

/** A message from one server to another, or the answer to it. */
export interface Envelope<Content> {
  /** A hash of the names of all servers. Servers with different lists do not work together. */
  readonly cluster: string;
  readonly from: string;
  readonly to: string;
  /** A random text, new at each start of the sender. */
  readonly start: string;
  /** The receiver's start, as far as the sender knows it. A server does not carry out a request for an earlier start. */
  readonly toStart: string | undefined;
  /** `writes`: how often the sender has written its state. `seen`: the highest `writes` of the receiver that the sender knows. */
  readonly writes: number;
  readonly seen: number;
  readonly content: Content;
}
