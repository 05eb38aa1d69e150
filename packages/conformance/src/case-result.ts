/** The outcome of one case on one store: a cell of the table. */
export interface CaseResult {
  /** The subject's name. */
  readonly subject: string;
  /** The case's id. */
  readonly id: string;
  readonly outcome: "passed" | "failed" | "skipped";
  /** Why it was skipped, or what went wrong. */
  readonly reason?: string | undefined;
}
