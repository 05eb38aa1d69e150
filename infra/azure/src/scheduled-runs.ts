/** Where a schedule's occurrences leave their traces: of a `LeaderScheduledFunction` or a `CandidateJob`. */
export interface ScheduledRuns {
  /** The workspace of Log Analytics. */
  readonly workspaceId: string;
  /** In Kusto: a row for each occurrence that was done. */
  readonly doneQuery: string;
  /** In Kusto: a row for each run that failed. */
  readonly failedQuery: string;
}
