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
