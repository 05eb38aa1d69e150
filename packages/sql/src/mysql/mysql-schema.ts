import { recordColumns } from "../schema.ts";
import type { Tables } from "../tables.ts";

const RECORD = recordColumns("mysql");

/**
 * Returns the statements that create the tables. Text is stored as bytes of UTF-8. It then compares byte by byte, and trailing spaces
 * count, under any collation.
 */
export function mysqlMigration({ leases, fences, occurrences }: Tables): readonly string[] {
  return [
    `CREATE TABLE IF NOT EXISTS ${leases} (
  election VARBINARY(255) NOT NULL PRIMARY KEY,
  ${RECORD}
) ENGINE = InnoDB`,
    `CREATE TABLE IF NOT EXISTS ${fences} (
  election VARBINARY(255) NOT NULL PRIMARY KEY,
  term BIGINT NOT NULL DEFAULT 0,
  term_id VARBINARY(36)
) ENGINE = InnoDB`,
    `CREATE TABLE IF NOT EXISTS ${occurrences} (
  election VARBINARY(255) NOT NULL,
  occurrence VARBINARY(255) NOT NULL,
  ${RECORD},
  expires_at DATETIME(6) NOT NULL,
  PRIMARY KEY (election, occurrence)
) ENGINE = InnoDB`,
  ];
}
