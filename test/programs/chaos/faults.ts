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

/** A partition that lasts to the end. */
export const SEVERED = "partition-for-ever";

export type ProcessFault = (typeof PROCESS_FAULTS)[number];
export type LinkFault = (typeof LINK_FAULTS)[number];
export type StoreFault = (typeof STORE_FAULTS)[number];
export type FaultKind = ProcessFault | LinkFault | StoreFault | typeof SEVERED;
