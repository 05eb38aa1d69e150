/** One entry of the ledger: one unit of the leader's work. */
export interface Entry {
  /** Counts from 1. */
  readonly entry: number;
  readonly term: number;
  readonly candidate: string;
}

/** Parses the ledger's content, which is empty at first. */
export function entriesOf(text: string): Entry[] {
  return text === "" ? [] : (JSON.parse(text) as Entry[]);
}

/**
 * Returns the faults of a ledger, from its versions in the order in which they were read. Empty if there is no fault.
 * - A version that lacks an entry of the one before has lost it.
 * - A term that goes back is a stale leader's write.
 * - Each acknowledged entry must be in the last version.
 */
export function ledgerProblems(versions: readonly (readonly Entry[])[], acknowledged: readonly Entry[]): string[] {
  const problems: string[] = [];
  versions.forEach((version, index) => {
    const lost = versions[index - 1]?.find((entry) => !isSame(entry, version[entry.entry - 1]));
    if (lost) problems.push(`entry ${lost.entry} of ${lost.candidate} in term ${lost.term} was there, and then was not`);
  });
  const final = versions.at(-1) ?? [];
  final.forEach((entry, index) => {
    const before = final[index - 1];
    if (entry.entry !== index + 1) problems.push(`entry ${entry.entry} is in place ${index + 1}`);
    if (before && entry.term < before.term) {
      problems.push(`entry ${entry.entry} goes back from term ${before.term} to term ${entry.term}`);
    }
  });
  for (const entry of acknowledged) {
    if (!isSame(entry, final[entry.entry - 1])) {
      problems.push(`entry ${entry.entry}, written by ${entry.candidate} in term ${entry.term}, is not there`);
    }
  }
  return problems;
}

function isSame(a: Entry, b: Entry | undefined): boolean {
  return a.entry === b?.entry && a.term === b.term && a.candidate === b.candidate;
}
