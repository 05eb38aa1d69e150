/** What Cloud Monitoring knows of the runs of a schedule, for alerts: of a `LeaderScheduledFunction` or a `CandidateJob`. */
export interface ScheduledRuns {
  readonly project: string;
  /** The schedule's name. */
  readonly name: string;
  readonly location: string;
  /** The filter of a metric that counts runs which succeeded. One that another delivery's work made needless counts. */
  readonly succeeded: string;
  /** The filter of a metric that counts those which failed. */
  readonly failed: string;
  /** How many of an occurrence may fail before it is lost. */
  readonly failuresBorne: number;
  /** How long an occurrence's tries may take, in seconds. */
  readonly windowSeconds: number;
}
