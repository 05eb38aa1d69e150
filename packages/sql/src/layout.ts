import { StoreError } from "@leasehold/core";
import { FENCES, LEASES, numberOf, OCCURRENCES, textOf, type Row } from "./schema.ts";

/**
 * The columns that no two rows of a table may share. Without that each of two candidates makes a row of its own, and leads: that the
 * columns are there says nothing of it.
 */
const KEYS: ReadonlyMap<string, readonly string[]> = new Map([
  [LEASES, ["election"]],
  [FENCES, ["election"]],
  [OCCURRENCES, ["election", "occurrence"]],
]);

/** The tables that have a key, quoted for SQL. */
export const TABLES: string = [...KEYS.keys()].map((table) => `'${table}'`).join(", ");

/**
 * Checks the tables that a database has, each with its unique indexes.
 *
 * @param indexes a row for each index that is unique, of columns as they are, at once and for all rows: `table_name`, and its columns
 *   in alphabetical order as `key_columns`, with commas between. A table without one has a row with null.
 * @throws {StoreError} `STORE_REJECTED` for the first table without its key, with the statement that makes it.
 */
export function checkKeys(store: string, indexes: readonly Row[]): void {
  for (const [table, key] of KEYS) {
    const ofTable = indexes.filter((index) => textOf(index["table_name"]) === table);
    const isKept = ofTable.some((index) => textOf(index["key_columns"]) === key.join(","));
    if (ofTable.length > 0 && !isKept) throw withoutKey(store, table, key);
    const engine = ofTable
      .map((index) => textOf(index["engine"]))
      .find((name): name is string => name !== null && name !== "InnoDB");
    if (engine !== undefined) throw withoutTransactions(store, table, engine);
  }
}

function withoutKey(store: string, table: string, key: readonly string[]): StoreError {
  const columns = key.join(", ");
  return rejected(
    store,
    `${table} has no unique key on (${columns}), so that two candidates could lead. While nobody leads, delete all rows but one of each (${columns}), then run: CREATE UNIQUE INDEX ${table}_key ON ${table} (${columns})`,
  );
}

function withoutTransactions(store: string, table: string, engine: string): StoreError {
  return rejected(
    store,
    `${table} is a table of ${engine}, which has no transactions. Run: ALTER TABLE ${table} ENGINE = InnoDB`,
  );
}

function rejected(store: string, message: string): StoreError {
  const operation = "check";
  return new StoreError("STORE_REJECTED", `${store}: ${message}`, {
    store,
    operation,
    election: undefined,
    mayHaveBeenApplied: false,
  });
}

/** A setting of a server that loses acknowledged writes, in a sentence with its remedy. */
export type Warning = string;

/** Returns the settings of a server by their names, in lower case, from rows of a name and a value. */
export function settingsOf(rows: readonly Row[]): ReadonlyMap<string, string> {
  return new Map(
    rows.map((row) => {
      const [name = "", value = ""] = Object.values(row).map((cell) => textOf(cell) ?? String(numberOf(cell)));
      return [name.toLowerCase(), value];
    }),
  );
}
