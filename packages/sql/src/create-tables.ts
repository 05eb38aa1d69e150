import type { Tables } from "./tables.ts";

/** The columns of a record as they are created: the name, and the types on PostgreSQL, on MySQL and on SQLite. */
export const RECORD_COLUMNS = [
  ["version", "TEXT NOT NULL DEFAULT ''", "VARBINARY(36) NOT NULL DEFAULT ''", "TEXT NOT NULL DEFAULT ''"],
  ["schema_version", "INTEGER", "INT", "INTEGER"],
  ["term", "BIGINT", "BIGINT", "INTEGER"],
  ["term_id", "TEXT", "VARBINARY(36)", "TEXT"],
  ["candidate_id", "TEXT", "VARBINARY(255)", "TEXT"],
  ["value", "BYTEA", "MEDIUMBLOB", "TEXT"],
  ["nonce", "TEXT", "VARBINARY(36)", "TEXT"],
  ["nonce_at", "TIMESTAMPTZ", "DATETIME(6)", "REAL"],
  ["nonce_clock", "TIMESTAMPTZ", "VARBINARY(500)", "TEXT"],
  ["nonce_wall_ms", "BIGINT", "BIGINT", "INTEGER"],
  ["lease_duration_ms", "DOUBLE PRECISION", "DOUBLE", "REAL"],
  ["renew_interval_ms", "DOUBLE PRECISION", "DOUBLE", "REAL"],
  ["broken_reason", "BYTEA", "VARBINARY(500)", "TEXT"],
  ["broken_id", "TEXT", "VARBINARY(36)", "TEXT"],
  ["bars", "TEXT", "BLOB", "TEXT"],
  ["done", "SMALLINT", "TINYINT", "INTEGER"],
  ["history", "TEXT", "BLOB", "TEXT"],
  ["quorum", "TEXT", "BLOB", "TEXT"],
] as const;

/** The place of a column's type, the type of a name, the types in the other tables, and the end of the statement. */
const DIALECTS = {
  postgres: { at: 1, name: 'TEXT COLLATE "C"', term: "BIGINT", termId: "TEXT", expiry: "TIMESTAMPTZ", end: "" },
  mysql: {
    at: 2,
    name: "VARBINARY(255)",
    term: "BIGINT",
    termId: "VARBINARY(36)",
    expiry: "DATETIME(6)",
    end: " ENGINE = InnoDB",
  },
  sqlite: { at: 3, name: "TEXT", term: "INTEGER", termId: "TEXT", expiry: "INTEGER", end: " STRICT" },
} as const;

/**
 * Returns the statements that create the tables. Names compare byte by byte: MySQL stores text as bytes of UTF-8, so that trailing
 * spaces count. Columns that users write freely are bytes on PostgreSQL, whose text cannot contain a NUL.
 */
export function createTables(
  database: keyof typeof DIALECTS,
  { leases, fences, occurrences }: Tables,
): Record<"leases" | "fences" | "occurrences", string> {
  const { at, name, term, termId, expiry, end } = DIALECTS[database];
  const record = RECORD_COLUMNS.map((column) => `${column[0]} ${column[at]}`).join(",\n  ");
  return {
    leases: `CREATE TABLE IF NOT EXISTS ${leases} (
  election ${name} NOT NULL PRIMARY KEY,
  ${record}
)${end}`,
    // The guards of SQLite refer to all three columns.
    fences: `CREATE TABLE IF NOT EXISTS ${fences} (
  election ${name} NOT NULL PRIMARY KEY,
  term ${term} NOT NULL DEFAULT 0,
  term_id ${termId}${database === "sqlite" ? ",\n  UNIQUE (election, term, term_id)" : ""}
)${end}`,
    occurrences: `CREATE TABLE IF NOT EXISTS ${occurrences} (
  election ${name} NOT NULL,
  occurrence ${name} NOT NULL,
  ${record},
  expires_at ${expiry} NOT NULL,
  PRIMARY KEY (election, occurrence)
)${end}`,
  };
}
