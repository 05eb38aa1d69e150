import type { LeaseRecord, StoredRecord } from "@leasehold/core/provider";
import { RECORD_COLUMNS } from "./create-tables.ts";
import type { Tables } from "./tables.ts";

/** The version of a row before its first acquisition. No record ever has it. */
export const NO_VERSION = "";

/**
 * The columns that record when the nonce was written:
 *
 * - `nonce_at`: the time by the database's clock.
 * - `nonce_clock`: the name of that clock, which is the server since its last start.
 * - `nonce_wall_ms`: the same time by the wall clock of the writing process, in milliseconds since the Unix epoch.
 */
export const NONCE_COLUMNS: readonly string[] = ["nonce_at", "nonce_clock", "nonce_wall_ms"];

/**
 * The columns of a lease record, in the order of {@link columnValues}. `bars` and `history` are JSON text. A row also has its key, `version` and
 * {@link NONCE_COLUMNS}.
 */
export const COLUMNS: readonly string[] = RECORD_COLUMNS.map(([name]) => name).filter(
  (name) => name !== "version" && !NONCE_COLUMNS.includes(name),
);

/** The columns with text that users write freely. It may contain a NUL. */
export const FREE_TEXT: readonly string[] = ["value", "broken_reason"];

/** A table that stores records as rows, and maps the engine's names for records to keys. */
export interface RecordTable {
  readonly name: string;
  readonly key: readonly string[];
  keyOf(name: string): readonly string[];
  /**
   * The table of the records' fences, which a fenced write changes together with the record. `undefined`: each record is its own
   * fence.
   */
  readonly fences: string | undefined;
  /**
   * The time for which a row is kept after its last write; the end of it is written as `expires_at`. `undefined`: rows are kept
   * for ever.
   */
  readonly retentionMs: number | undefined;
}

export function leaseTable({ leases, fences }: Tables): RecordTable {
  return { name: leases, key: ["election"], keyOf: (election) => [election], fences, retentionMs: undefined };
}

/** Returns the table of the occurrences, limited to those of one election. */
export function occurrenceTable({ occurrences }: Tables, election: string, retentionMs: number): RecordTable {
  return {
    name: occurrences,
    key: ["election", "occurrence"],
    keyOf: (occurrence) => [election, occurrence],
    fences: undefined,
    retentionMs,
  };
}

/**
 * Returns statements that fail if a table exists with the columns of another version. CREATE TABLE IF NOT EXISTS does not notice
 * that. The first one is about the fences.
 */
export function layoutChecks({ leases, fences, occurrences }: Tables): readonly string[] {
  const record = ["version", ...COLUMNS, ...NONCE_COLUMNS].join(", ");
  return [
    `SELECT election, term, term_id FROM ${fences} WHERE 1 = 0`,
    `SELECT election, ${record} FROM ${leases} WHERE 1 = 0`,
    `SELECT election, occurrence, ${record}, expires_at FROM ${occurrences} WHERE 1 = 0`,
  ];
}

/**
 * The columns that a fence check compares when a record is its own fence. `term_id` is null, and so matches no leadership, once
 * the record is vacated or broken.
 */
export const OWN_FENCE: string = "term, CASE WHEN broken_reason IS NULL THEN term_id END AS term_id";

/** A value of one of the {@link COLUMNS}, in a form that each database takes. */
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
    record.history ?? null,
    record.quorum ?? null,
  ];
}

/** Reads the term which a fence remembers. `parameter` is the placeholder of the election. */
export function selectFenceTerm(fences: string, parameter: string): string {
  return `SELECT term FROM ${fences} WHERE election = ${parameter}`;
}

/** Returns a substitute for a record that is gone, with the term that its fence remembers. */
export function lostRow(fence: Row | undefined): StoredRecord | undefined {
  const lostTerm = fenceTermOf(fence);
  return lostTerm === undefined ? undefined : { data: undefined, version: NO_VERSION, lostTerm };
}

/** Returns the term in the result of {@link selectFenceTerm}; `undefined` before the first acquisition. */
export function fenceTermOf(fence: Row | undefined): number | undefined {
  const term = numberOf(fence?.["term"] ?? null) ?? 0;
  return term > 0 ? term : undefined;
}

/** A row in the form that drivers return: numbers may be text, and text may be bytes. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * Converts a row to the engine's form. The column `age_ms` is the age of the nonce. Returns `undefined` before the first
 * acquisition.
 */
export function stored(row: Row | undefined): StoredRecord | undefined {
  const version = textOf(row?.["version"]);
  if (!row || version === null || version === NO_VERSION) return undefined;
  const ageMs = numberOf(row["age_ms"]);
  const wallMs = numberOf(row["nonce_wall_ms"]);
  const value = textOf(row["value"]);
  const reason = textOf(row["broken_reason"]);
  const bars = textOf(row["bars"]);
  const done = numberOf(row["done"]);
  const history = textOf(row["history"]);
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
    // This store writes 1 or null only. The engine refuses any other number.
    ...(done === null ? {} : { done: done === 1 ? true : done }),
    ...(history === null ? {} : { history }),
    ...(quorum === null ? {} : { quorum }),
  };
  return {
    data,
    version,
    ...(ageMs === null ? {} : { nonceAgeMs: [ageMs, ageMs] }),
    ...(wallMs === null ? {} : { nonceWallMs: wallMs }),
  };
}

/** Returns the value of a JSON text. Returns a text that is not JSON unchanged: the engine refuses it. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function textOf(value: unknown): string | null {
  // A text may begin with U+FEFF. `TextDecoder` would remove it as a byte order mark.
  if (value instanceof Uint8Array) return new TextDecoder("utf-8", { ignoreBOM: true }).decode(value);
  return typeof value === "string" ? value : null;
}

export function numberOf(value: unknown): number | null {
  if (typeof value === "number") return value;
  return typeof value === "string" || typeof value === "bigint" ? Number(value) : null;
}
