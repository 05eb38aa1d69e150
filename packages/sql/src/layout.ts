import type { StoreError } from "@leasehold/core";
import { numberOf, textOf, type Row } from "./schema.ts";
import { unfitTable } from "./sql-errors.ts";
import { bareName, type Tables } from "./tables.ts";

/**
 * Returns the columns of each table's unique key. Without that key each of two candidates could make a row of its own, and both
 * would lead. A table can have all of the columns and still lack the key.
 */
function keysOf({ leases, fences, occurrences }: Tables): ReadonlyMap<string, readonly string[]> {
  return new Map([
    [leases, ["election"]],
    [fences, ["election"]],
    [occurrences, ["election", "occurrence"]],
  ]);
}

/** Returns the bare names of the tables that need a key, as texts of SQL. */
export function keyedNames(tables: Tables): string {
  return [...keysOf(tables).keys()].map((table) => `'${bareName(table)}'`).join(", ");
}

/**
 * Checks that each table found in the database has its unique key, and that its engine has transactions.
 *
 * @param indexes a row for each unique index whose columns are plain, and that holds for all rows at every statement.
 *   `table_name` is the table's bare name; `key_columns` has the index's columns in alphabetical order, with commas between. A table
 *   without such an index has one row in which `key_columns` is null. On MySQL `engine` names the table's storage engine.
 * @throws {StoreError} `STORE_REJECTED` for the first table that fails, with the statement that repairs it.
 */
export function checkKeys(store: string, tables: Tables, indexes: readonly Row[]): void {
  for (const [table, key] of keysOf(tables)) {
    // A server may list the name in lower case.
    const bare = bareName(table).toLowerCase();
    const ofTable = indexes.filter((index) => textOf(index["table_name"])?.toLowerCase() === bare);
    const isKept = ofTable.some((index) => textOf(index["key_columns"]) === key.join(","));
    if (ofTable.length > 0 && !isKept) throw withoutKey(store, table, key);
    const engine = ofTable
      .map((index) => textOf(index["engine"]))
      .find((name): name is string => name !== null && name !== "InnoDB");
    if (engine === undefined) continue;
    const remedy = `Run: ALTER TABLE ${table} ENGINE = InnoDB`;
    throw unfitTable(store, `${table} is a table of ${engine}, which has no transactions. ${remedy}`);
  }
}

function withoutKey(store: string, table: string, key: readonly string[]): StoreError {
  const columns = key.join(", ");
  return unfitTable(
    store,
    `${table} has no unique key on (${columns}), so that two candidates could lead. While nobody leads, delete all rows but one of each (${columns}), then run: CREATE UNIQUE INDEX ${table.replace(/^.*\./, "").replace(/["`]?$/, "_key$&")} ON ${table} (${columns})`,
  );
}

/** Returns the settings of a server by name, in lower case. Each row has a name and a value. */
export function settingsOf(rows: readonly Row[]): ReadonlyMap<string, string> {
  return new Map(
    rows.map((row) => {
      const [name = "", value = ""] = Object.values(row).map((cell) => textOf(cell) ?? String(numberOf(cell)));
      return [name.toLowerCase(), value];
    }),
  );
}
