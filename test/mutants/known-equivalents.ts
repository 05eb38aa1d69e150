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
export const KNOWN_EQUIVALENTS: readonly KnownEquivalent[] = [];
