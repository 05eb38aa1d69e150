import { FENCES, LEASES } from "../lease-row.ts";

/** Names compare by code point. What users write freely is kept as bytes, since text cannot hold a NUL. */
export const POSTGRES_MIGRATION: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS ${LEASES} (
  election TEXT COLLATE "C" PRIMARY KEY,
  version TEXT NOT NULL DEFAULT '',
  schema_version INTEGER,
  term BIGINT,
  term_id TEXT,
  candidate_id TEXT,
  value BYTEA,
  nonce TEXT,
  nonce_at TIMESTAMPTZ,
  lease_duration_ms DOUBLE PRECISION,
  renew_interval_ms DOUBLE PRECISION,
  broken_reason BYTEA,
  transfer_to TEXT,
  transfer_timeout_ms DOUBLE PRECISION
)`,
  `CREATE TABLE IF NOT EXISTS ${FENCES} (
  election TEXT COLLATE "C" PRIMARY KEY,
  term BIGINT NOT NULL DEFAULT 0,
  term_id TEXT
)`,
];
