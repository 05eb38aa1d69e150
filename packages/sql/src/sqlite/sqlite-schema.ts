import { keyedNames } from "../layout.ts";
import { recordColumns } from "../schema.ts";
import type { Tables } from "../tables.ts";

const RECORD = recordColumns("sqlite");

/** The statements that create the tables, by the file in which they are. */
export interface SqliteMigration {
  /** In the file of the data: the fences that guard it, and the guards. */
  readonly data: readonly string[];
  /** In the file beside it: the leases, and the occurrences, which get as many renewals. */
  readonly leases: readonly string[];
}

/**
 * Returns the statements that create the tables.
 *
 * The table of the guards has a row only within a transaction. `fence()` inserts it if the fence does not belong to the leadership.
 * Then the transaction cannot be committed, because SQLite checks the reference at the commit.
 */
export function sqliteMigration({ fences, guards, leases, occurrences }: Tables): SqliteMigration {
  return {
    data: [
      `CREATE TABLE IF NOT EXISTS ${fences} (
  election TEXT PRIMARY KEY NOT NULL,
  term INTEGER NOT NULL DEFAULT 0,
  term_id TEXT,
  UNIQUE (election, term, term_id)
) STRICT`,
      `CREATE TABLE IF NOT EXISTS ${guards} (
  election TEXT NOT NULL,
  term INTEGER NOT NULL,
  term_id TEXT NOT NULL,
  FOREIGN KEY (election, term, term_id) REFERENCES ${fences} (election, term, term_id) DEFERRABLE INITIALLY DEFERRED
) STRICT`,
    ],
    leases: [
      `CREATE TABLE IF NOT EXISTS ${leases} (
  election TEXT PRIMARY KEY NOT NULL,
  ${RECORD}
) STRICT`,
      `CREATE TABLE IF NOT EXISTS ${occurrences} (
  election TEXT NOT NULL,
  occurrence TEXT NOT NULL,
  ${RECORD},
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (election, occurrence)
) STRICT`,
    ],
  };
}

/**
 * Returns a query of the unique indexes of the store's tables in one file, in the form that `checkKeys` takes. A partial index does
 * not count.
 */
export function uniqueIndexes(tables: Tables): string {
  return `SELECT t.name AS table_name, (
  SELECT group_concat(name) FROM (SELECT name FROM pragma_index_info(i.name, t.schema) ORDER BY name)
) AS key_columns
FROM pragma_table_list t LEFT JOIN pragma_index_list(t.name, t.schema) i ON i."unique" = 1 AND i.partial = 0
WHERE t.name COLLATE NOCASE IN (${keyedNames(tables)}) AND t.type = 'table'`;
}
