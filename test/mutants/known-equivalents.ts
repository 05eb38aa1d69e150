/** A change that nobody can tell from the original. */
export interface KnownEquivalent {
  /** From the root of the repository. */
  readonly file: string;
  /** The line, and what it is changed into, as `npm run mutants` shows them. */
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

/** Mutants that no test can kill. Each has to be one that there is. */
export const KNOWN_EQUIVALENTS: readonly KnownEquivalent[] = [
  {
    file: "packages/functions/src/attempt.ts",
    from: "const waitMs = Math.min(Math.max(error.retryAfterMs ?? 0, RETRY_MS), RETRY_MAX_MS);",
    to: "const waitMs = Math.min(Math.max(error.retryAfterMs ?? 1, RETRY_MS), RETRY_MAX_MS);",
    why: "RETRY_MS is more than either.",
  },
  {
    file: "packages/functions/src/attempt.ts",
    from: "throw error;",
    to: ";",
    why: "The elector ends a term in the same way whether its task returned or threw, and what was thrown is thrown again after it.",
  },
];
