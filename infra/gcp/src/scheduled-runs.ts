/** The metrics of a schedule's runs in Cloud Monitoring, for alerts: of a `LeaderScheduledFunction` or a `CandidateJob`. */
export interface ScheduledRuns {
  readonly project: string;
  /** The schedule's name. */
  readonly name: string;
  readonly location: string;
  /** The filter of a metric that counts successful runs. A run that finds its occurrence done counts too. */
  readonly succeeded: string;
  /** The filter of a metric that counts failed runs. */
  readonly failed: string;
  /** The number of failures after which an occurrence is not yet lost. */
  readonly failuresBorne: number;
  /** The longest time of an occurrence's tries, in seconds. */
  readonly windowSeconds: number;
}
