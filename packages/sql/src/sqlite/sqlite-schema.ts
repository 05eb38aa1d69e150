import { FENCES, LEASES } from "../lease-row.ts";

/** The fences, in the file of the data that they guard. */
export const FENCES_TABLE: string = `CREATE TABLE IF NOT EXISTS ${FENCES} (
  election TEXT PRIMARY KEY NOT NULL,
  term INTEGER NOT NULL DEFAULT 0,
  term_id TEXT
) STRICT`;

/** The leases, in a file beside it. */
export const LEASES_TABLE: string = `CREATE TABLE IF NOT EXISTS ${LEASES} (
  election TEXT PRIMARY KEY NOT NULL,
  version TEXT NOT NULL DEFAULT '',
  schema_version INTEGER,
  term INTEGER,
  term_id TEXT,
  candidate_id TEXT,
  value TEXT,
  nonce TEXT,
  nonce_at INTEGER,
  lease_duration_ms REAL,
  renew_interval_ms REAL,
  broken_reason TEXT,
  transfer_to TEXT,
  transfer_timeout_ms REAL
) STRICT`;
