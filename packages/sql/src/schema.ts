import type { LeaseRecord, StoredRecord } from "@leasehold/core/provider";

/** Leases, and apart from them the fences, which renewals never touch. */
export const LEASES = "leasehold_leases";
export const FENCES = "leasehold_fences";
/** On SQLite, what keeps a transaction of a stale leader from being committed. */
export const GUARDS = "leasehold_guards";
/** The occurrences of schedules: rows of the same columns, which may be deleted once they have expired. */
export const OCCURRENCES = "leasehold_occurrences";

/** The version of a row before its first acquisition; no record ever has it. */
export const NO_VERSION = "";

/**
 * The time at which the nonce was written, by the database's clock; the name of that clock (of its server, since the last
 * start); and the same time by the wall clock of the process that asked for it.
 */
export const NONCE_COLUMNS: readonly string[] = ["nonce_at", "nonce_clock", "nonce_wall_ms"];

/** The columns of a lease record, in the order of {@link columnValues}; `bars` is JSON text. Beside them are the key, `version` and {@link NONCE_COLUMNS}. */
export const COLUMNS: readonly string[] = [
  "schema_version",
  "term",
  "term_id",
  "candidate_id",
  "value",
  "nonce",
  "lease_duration_ms",
  "renew_interval_ms",
  "broken_reason",
  "broken_id",
  "bars",
  "done",
  "quorum",
];

/** The columns with what users write freely, in which there may be a NUL. */
export const FREE_TEXT: readonly string[] = ["value", "broken_reason"];

/** A table that keeps records as rows, with the keys for the names that the engine calls them by. */
export interface RecordTable {
  readonly name: string;
  /** The columns of its primary key. */
  readonly key: readonly string[];
  /** Returns the values of these for a record of that name. */
  keyOf(name: string): readonly string[];
  /** The table of the records' fences, written together with them; a record without one is its own fence. */
  readonly fences: typeof FENCES | undefined;
  /** The time for which a row is kept after its last write, written as `expires_at`; `undefined`: for good. */
  readonly retentionMs: number | undefined;
}

export const LEASE_TABLE: RecordTable = {
  name: LEASES,
  key: ["election"],
  keyOf: (election) => [election],
  fences: FENCES,
  retentionMs: undefined,
};

/** Returns the table of the occurrences, as that of one election's. */
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

/** The columns by which the fence of a record without a fence's row is compared: nobody's once the record is vacated or broken. */
export const OWN_FENCE: string = "term, CASE WHEN broken_reason IS NULL THEN term_id END AS term_id";

/** A value of one of {@link COLUMNS}, as a database takes it. */
export type ColumnValue = string | number | null;

export function columnValues(record: LeaseRecord): ColumnValue[] {
  const { broken, bars } = record;
  return [
    record.schema,
    record.term,
    record.termId,
    record.candidateId,
    record.value ?? null,
    record.nonce,
    record.leaseDurationMs,
    record.renewIntervalMs,
    broken?.reason ?? null,
    broken?.id ?? null,
    bars ? JSON.stringify(bars) : null,
    record.done ? 1 : null,
    record.quorum ?? null,
  ];
}

/** The term that an election's fence remembers. The parameter is the election, in each dialect's own notation. */
export function selectFenceTerm(parameter: string): string {
  return `SELECT term FROM ${FENCES} WHERE election = ${parameter}`;
}

/** What stands for a record that is gone, if its fence remembers a term. */
export function lostRow(fence: Row | undefined): StoredRecord | undefined {
  const lostTerm = numberOf(fence?.["term"] ?? null) ?? 0;
  return lostTerm > 0 ? { data: undefined, version: NO_VERSION, lostTerm } : undefined;
}

/** A row as drivers give it: numbers may be text, and text may be bytes. */
export type Row = Readonly<Record<string, unknown>>;

/** Returns a row as the engine takes it, with the age of its nonce as `age_ms`; `undefined` before the first acquisition. */
export function stored(row: Row | undefined): StoredRecord | undefined {
  const version = textOf(row?.["version"]);
  if (!row || version === null || version === NO_VERSION) return undefined;
  const ageMs = numberOf(row["age_ms"]);
  const wallMs = numberOf(row["nonce_wall_ms"]);
  const value = textOf(row["value"]);
  const reason = textOf(row["broken_reason"]);
  const bars = textOf(row["bars"]);
  const done = numberOf(row["done"]);
  const quorum = textOf(row["quorum"]);
  const data = {
    schema: numberOf(row["schema_version"]),
    term: numberOf(row["term"]),
    termId: textOf(row["term_id"]),
    candidateId: textOf(row["candidate_id"]),
    ...(value === null ? {} : { value }),
    nonce: textOf(row["nonce"]),
    leaseDurationMs: numberOf(row["lease_duration_ms"]),
    renewIntervalMs: numberOf(row["renew_interval_ms"]),
    ...(reason === null ? {} : { broken: { reason, id: textOf(row["broken_id"]) } }),
    ...(bars === null ? {} : { bars: parsed(bars) }),
    // We write no other number.
    ...(done === null ? {} : { done: done === 1 ? true : done }),
    ...(quorum === null ? {} : { quorum }),
  };
  return {
    data,
    version,
    ...(ageMs === null ? {} : { nonceAgeMs: [ageMs, ageMs] }),
    ...(wallMs === null ? {} : { nonceWallMs: wallMs }),
  };
}

/** Returns the value of a JSON text; a text that is none stays one, which the engine refuses. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function textOf(value: unknown): string | null {
  // A text may begin with U+FEFF, which is a byte order mark only to whoever looks for one.
  if (value instanceof Uint8Array) return new TextDecoder("utf-8", { ignoreBOM: true }).decode(value);
  return typeof value === "string" ? value : null;
}

export function numberOf(value: unknown): number | null {
  if (typeof value === "number") return value;
  return typeof value === "string" || typeof value === "bigint" ? Number(value) : null;
}
