import { recordColumns } from "../schema.ts";
import type { Tables } from "../tables.ts";

const RECORD = recordColumns("postgres");

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
