/** The faults of one worker's process. */
export const PROCESS_FAULTS = [
  /** SIGKILL; started again later. */
  "kill",
  /** SIGSTOP, and SIGCONT later. */
  "freeze",
  /** SIGSTOP, and SIGKILL later; started again. */
  "freeze-and-kill",
  /** Its event loop stands still. */
  "block",
  /** SIGTERM, and started again once it has ended. */
  "restart",
  /** Its elector gives up its term, if it has one. */
  "resign",
] as const;

/** The faults of one worker's connections to the store. */
export const LINK_FAULTS = [
  /** Nothing that it sends arrives. */
  "lose-requests",
  /** Whatever it asks for is done, and it does not hear of it. */
  "lose-replies",
  /** Nothing passes in either direction. */
  "partition",
  /** Everything takes longer. */
  "delay",
  /** What it sends arrives, but only when the fault is over. */
  "hold",
  /** Its connections break, and new ones too: nobody listens. */
  "stop",
  /** Its connections break in the middle of each reply. */
  "cut-mid-reply",
] as const;

/** The faults that meet everybody at once. */
export const STORE_FAULTS = [
  /** The service stands still (SIGSTOP; of SQLite, the files are locked), and goes on later. */
  "store-frozen",
  /** Everybody's connections break, and new ones too. */
  "store-unreachable",
] as const;

/** The faults of one of several stores that keep the leases together: the others go on, and so does the election. */
export const MEMBER_FAULTS = [
  /** It stands still, and goes on later. */
  "member-frozen",
  /** Everybody's connections to it break, and new ones too; of SQLite, which has none, the files are locked. */
  "member-unreachable",
  /** Its process is killed, and started again later, with what is left: nothing, where it keeps its data in memory. */
  "member-killed",
  /** It loses everything, and serves. */
  "member-wiped",
] as const;

/** A partition that lasts to the end. */
export const SEVERED = "partition-for-ever";

export type ProcessFault = (typeof PROCESS_FAULTS)[number];
export type LinkFault = (typeof LINK_FAULTS)[number];
export type StoreFault = (typeof STORE_FAULTS)[number];
export type MemberFault = (typeof MEMBER_FAULTS)[number];
export type FaultKind = ProcessFault | LinkFault | StoreFault | MemberFault | typeof SEVERED;
