import { createTables } from "../create-tables.ts";
import { keyedNames } from "../layout.ts";
import type { Tables } from "../tables.ts";

/**
 * Returns the statements that create the tables, by the file in which they are: that of the data, or that of the leases.
 *
 * The table of the guards has a row only within a transaction. `fence()` inserts it if the fence does not belong to the leadership.
 * Then the transaction cannot be committed, because SQLite checks the reference at the commit.
 */
export function sqliteMigration(tables: Tables): Record<"data" | "leases", readonly string[]> {
  const { leases, fences, occurrences } = createTables("sqlite", tables);
  return {
    data: [
      fences,
      `CREATE TABLE IF NOT EXISTS ${tables.guards} (
  election TEXT NOT NULL,
  term INTEGER NOT NULL,
  term_id TEXT NOT NULL,
  FOREIGN KEY (election, term, term_id) REFERENCES ${tables.fences} (election, term, term_id) DEFERRABLE INITIALLY DEFERRED
) STRICT`,
    ],
    leases: [leases, occurrences],
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
