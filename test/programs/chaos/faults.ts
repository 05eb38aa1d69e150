/** The faults of one worker's process. */
export const PROCESS_FAULTS = [
  /** SIGKILL. The process is started again later. */
  "kill",
  /** SIGSTOP, and SIGCONT later. */
  "freeze",
  /** SIGSTOP, and SIGKILL later. The process is started again. */
  "freeze-and-kill",
  /** Its event loop is blocked. */
  "block",
  /** SIGTERM. The process is started again once it has ended. */
  "restart",
  /** Its elector resigns its term, if it has one. */
  "resign",
] as const;

/** The faults of one worker's connections to the store. */
export const LINK_FAULTS = [
  /** All of its requests are lost. */
  "lose-requests",
  /** Its requests are carried out, and the replies are lost. */
  "lose-replies",
  /** No data passes in either direction. */
  "partition",
  /** All data is delayed. */
  "delay",
  /** Its requests arrive only when the fault is over. */
  "hold",
  /** Its connections break, and new ones are refused. */
  "stop",
  /** Its connections break in the middle of each reply. */
  "cut-mid-reply",
] as const;

/** The faults that hit all workers at once. */
export const STORE_FAULTS = [
  /** The service is stopped (SIGSTOP; the files of SQLite are locked), and continues later. */
  "store-frozen",
  /** All connections break, and new ones are refused. */
  "store-unreachable",
] as const;

/** The faults of one of several stores that hold the leases together. The others and the election go on. */
export const MEMBER_FAULTS = [
  /** It is stopped, and continues later. */
  "member-frozen",
  /** All connections to it break, and new ones are refused. SQLite has no connections, so its files are locked. */
  "member-unreachable",
  /** Its process is killed, and started again later with its remaining data. A store in memory has none. */
  "member-killed",
  /** It loses all data, and continues to serve. */
  "member-wiped",
] as const;

/** A partition that lasts to the end. */
export const SEVERED = "partition-for-ever";

export type ProcessFault = (typeof PROCESS_FAULTS)[number];
export type LinkFault = (typeof LINK_FAULTS)[number];
export type StoreFault = (typeof STORE_FAULTS)[number];
export type MemberFault = (typeof MEMBER_FAULTS)[number];
export type FaultKind = ProcessFault | LinkFault | StoreFault | MemberFault | typeof SEVERED;
