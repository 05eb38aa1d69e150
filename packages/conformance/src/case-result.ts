/** The outcome of one case on one store: a cell of the table. */
export interface CaseResult {
  /** The subject's name. */
  readonly subject: string;
  /** The case's id. */
  readonly id: string;
  readonly outcome: "passed" | "failed" | "skipped";
  /** The reason why it was skipped, or the message of its failure. */
  readonly reason?: string | undefined;
}
