/** The takeover of one standby from a leader that stopped normally. */
export interface Handover {
  /** The time from the end of the leader's task to the start of the standby's term. */
  readonly vacantMs: number;
  /** The time from the call of `stop` until it resolved. */
  readonly stopMs: number;
  readonly requestsPerHour: number;
}

/** The takeover of one standby from a leader that crashed. */
export interface Failover {
  /**
   * The time from the end of the lease to the start of the standby's term. The lease counts from the send of the last renewal
   * that arrived.
   */
  readonly extraMs: number;
  /** The standby's requests per hour before the crash. */
  readonly requestsPerHour: number;
  /** The parts of the extra time, in milliseconds. */
  readonly parts: Readonly<Record<string, number>>;
}
