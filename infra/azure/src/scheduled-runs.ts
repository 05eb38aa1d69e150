/** The logs of a schedule's occurrences, of a `LeaderScheduledFunction` or a `CandidateJob`. */
export interface ScheduledRuns {
  /** The workspace of Log Analytics. */
  readonly workspaceId: string;
  /** A Kusto query with a row for each occurrence that was done. */
  readonly doneQuery: string;
  /** A Kusto query with a row for each run that failed. */
  readonly failedQuery: string;
}
