import { TABLES } from "../layout.ts";
import { FENCES, GUARDS, LEASES, OCCURRENCES } from "../schema.ts";

const RECORD = `version TEXT NOT NULL DEFAULT '',
  schema_version INTEGER,
  term INTEGER,
  term_id TEXT,
  candidate_id TEXT,
  value TEXT,
  nonce TEXT,
  nonce_at REAL,
  nonce_clock TEXT,
  nonce_wall_ms INTEGER,
  lease_duration_ms REAL,
  renew_interval_ms REAL,
  broken_reason TEXT,
  broken_id TEXT,
  bars TEXT,
  done INTEGER,
  quorum TEXT`;

/** The table of the fences, in the file of the data that they guard. */
export const FENCES_TABLE: string = `CREATE TABLE IF NOT EXISTS ${FENCES} (
  election TEXT PRIMARY KEY NOT NULL,
  term INTEGER NOT NULL DEFAULT 0,
  term_id TEXT,
  UNIQUE (election, term, term_id)
) STRICT`;

/**
 * The table of the guards, beside the fences. It has a row only within a transaction. `fence()` inserts it, and deletes it again
 * if the fence belongs to the leadership. Otherwise the transaction cannot be committed, because SQLite checks the reference at
 * the commit.
 */
export const GUARDS_TABLE: string = `CREATE TABLE IF NOT EXISTS ${GUARDS} (
  election TEXT NOT NULL,
  term INTEGER NOT NULL,
  term_id TEXT NOT NULL,
  FOREIGN KEY (election, term, term_id) REFERENCES ${FENCES} (election, term, term_id) DEFERRABLE INITIALLY DEFERRED
) STRICT`;

/** The table of the leases, in a file beside the data. */
export const LEASES_TABLE: string = `CREATE TABLE IF NOT EXISTS ${LEASES} (
  election TEXT PRIMARY KEY NOT NULL,
  ${RECORD}
) STRICT`;

/** The table of the occurrences. They share the file of the leases, because both get as many renewals. */
export const OCCURRENCES_TABLE: string = `CREATE TABLE IF NOT EXISTS ${OCCURRENCES} (
  election TEXT NOT NULL,
  occurrence TEXT NOT NULL,
  ${RECORD},
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (election, occurrence)
) STRICT`;

/**
 * Reads the unique indexes of the store's tables in both files, in the form that `checkKeys` takes. A partial index does not
 * count.
 */
export const UNIQUE_INDEXES: string = `SELECT t.name AS table_name, (
  SELECT group_concat(name) FROM (SELECT name FROM pragma_index_info(i.name, t.schema) ORDER BY name)
) AS key_columns
FROM pragma_table_list t LEFT JOIN pragma_index_list(t.name, t.schema) i ON i."unique" = 1 AND i.partial = 0
WHERE t.name IN (${TABLES}) AND t.type = 'table'`;
