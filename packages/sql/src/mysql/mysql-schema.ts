import type { Tables } from "../tables.ts";

const RECORD = `version VARBINARY(36) NOT NULL DEFAULT '',
  schema_version INT,
  term BIGINT,
  term_id VARBINARY(36),
  candidate_id VARBINARY(255),
  value MEDIUMBLOB,
  nonce VARBINARY(36),
  nonce_at DATETIME(6),
  nonce_clock VARBINARY(500),
  nonce_wall_ms BIGINT,
  lease_duration_ms DOUBLE,
  renew_interval_ms DOUBLE,
  broken_reason VARBINARY(500),
  broken_id VARBINARY(36),
  bars BLOB,
  done TINYINT,
  history BLOB,
  quorum BLOB`;

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
