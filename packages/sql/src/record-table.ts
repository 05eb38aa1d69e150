import { COLUMNS, FENCES, LEASES, NONCE_COLUMNS, OCCURRENCES } from "./lease-row.ts";

/** A table that keeps records as rows, and which of its rows are meant by the names that the engine calls them by. */
export interface RecordTable {
  readonly name: string;
  /** The columns of its primary key. */
  readonly key: readonly string[];
  /** The values of these for a record of that name. */
  keyOf(name: string): readonly string[];
  /** The table of the records' fences, written together with them; a record without one is its own fence. */
  readonly fences: typeof FENCES | undefined;
  /** For how long a row has to be kept after its last write, which `expires_at` tells; `undefined`: for good. */
  readonly retentionMs: number | undefined;
}

export const LEASE_TABLE: RecordTable = {
  name: LEASES,
  key: ["election"],
  keyOf: (election) => [election],
  fences: FENCES,
  retentionMs: undefined,
};

/** Of all occurrences, those of one election. */
export function occurrenceTable(election: string, retentionMs: number): RecordTable {
  return {
    name: OCCURRENCES,
    key: ["election", "occurrence"],
    keyOf: (occurrence) => [election, occurrence],
    fences: undefined,
    retentionMs,
  };
}

/** Statements that fail where a table is there, but with the columns of another version: CREATE TABLE IF NOT EXISTS is silent then. */
export const LAYOUT_CHECKS: readonly string[] = [
  `SELECT election, ${["version", ...COLUMNS, ...NONCE_COLUMNS].join(", ")} FROM ${LEASES} WHERE 1 = 0`,
  `SELECT election, term, term_id FROM ${FENCES} WHERE 1 = 0`,
  `SELECT election, occurrence, ${["version", ...COLUMNS, ...NONCE_COLUMNS].join(", ")}, expires_at FROM ${OCCURRENCES} WHERE 1 = 0`,
];

/** What the fence of a record without a fence's row is compared by: nobody's once the record is vacated or broken. */
export const OWN_FENCE: string = "term, CASE WHEN broken_reason IS NULL THEN term_id END AS term_id";
