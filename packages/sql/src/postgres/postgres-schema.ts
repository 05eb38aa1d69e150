import type { Tables } from "../tables.ts";

const RECORD = `version TEXT NOT NULL DEFAULT '',
  schema_version INTEGER,
  term BIGINT,
  term_id TEXT,
  candidate_id TEXT,
  value BYTEA,
  nonce TEXT,
  nonce_at TIMESTAMPTZ,
  nonce_clock TIMESTAMPTZ,
  nonce_wall_ms BIGINT,
  lease_duration_ms DOUBLE PRECISION,
  renew_interval_ms DOUBLE PRECISION,
  broken_reason BYTEA,
  broken_id TEXT,
  bars TEXT,
  done SMALLINT,
  history TEXT,
  quorum TEXT`;

/**
 * Returns the statements that create the tables. Names compare by code point. Columns that users write freely are bytes, because text
 * cannot contain a NUL.
 */
export function postgresMigration({ leases, fences, occurrences }: Tables): readonly string[] {
  return [
    `CREATE TABLE IF NOT EXISTS ${leases} (
  election TEXT COLLATE "C" PRIMARY KEY,
  ${RECORD}
)`,
    `CREATE TABLE IF NOT EXISTS ${fences} (
  election TEXT COLLATE "C" PRIMARY KEY,
  term BIGINT NOT NULL DEFAULT 0,
  term_id TEXT
)`,
    `CREATE TABLE IF NOT EXISTS ${occurrences} (
  election TEXT COLLATE "C" NOT NULL,
  occurrence TEXT COLLATE "C" NOT NULL,
  ${RECORD},
  expires_at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (election, occurrence)
)`,
  ];
}
