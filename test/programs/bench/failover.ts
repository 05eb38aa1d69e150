/** How one standby took over from a leader that stopped politely. */
export interface Handover {
  /** From the end of the leader's task to the standby's leading. */
  readonly vacantMs: number;
  /** From the call of `stop` until it resolved. */
  readonly stopMs: number;
  readonly requestsPerHour: number;
}

/** How one standby took over from a leader that had crashed. */
export interface Failover {
  /** From the end of the lease, counted from the send of the last renewal that arrived, to the standby's leading. */
  readonly extraMs: number;
  /** What the standby had sent before, while it watched. */
  readonly requestsPerHour: number;
  /** What the extra time is made of, in milliseconds. */
  readonly parts: Readonly<Record<string, number>>;
}
