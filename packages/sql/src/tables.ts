import { ConfigurationError } from "@leasehold/core";

/** The names of a store's tables, as they stand in statements. */
export interface Tables {
  readonly leases: string;
  /** Apart from the leases, because renewals must never touch the fences. */
  readonly fences: string;
  /** The occurrences of schedules. Its rows may be deleted once they have expired. */
  readonly occurrences: string;
  /** SQLite only: the table whose foreign key keeps a stale leader's transaction from being committed. */
  readonly guards: string;
  /** The text with which each of these names begins. Statements are recognized by it. */
  readonly prefix: string;
  /** The name of the schema, or of MySQL's database, without quotes. */
  readonly schema: string | undefined;
}

/** The leases' table of a store without the option. Its other tables are named after `leasehold`. */
const DEFAULT_NAME = "leasehold_leases";
/** Names whose other tables would be those of {@link DEFAULT_NAME}, or whose leases would be. Some databases ignore case. */
const TAKEN = /^leasehold(?:_leases)?$/i;
/** PostgreSQL cuts a name after 63 bytes without an error, and the longest ending has 12. */
const PART = /^[A-Za-z0-9_-]{1,50}$/;

export const DEFAULT_TABLES: Tables = named(DEFAULT_NAME, undefined, "");

/**
 * Returns the tables that the option `table` names, quoted for the database.
 * @param dialect the quote of its names, and whether it has schemas.
 * @throws {ConfigurationError} for a text that is no table name. Sends nothing.
 */
export function tablesOf(table: string | undefined, { quote, hasSchemas }: { quote: '"' | "`"; hasSchemas: boolean }): Tables {
  if (table === undefined) return DEFAULT_TABLES;
  const parts = typeof table === "string" ? table.split(".") : [];
  const [name = "", schema] = parts.toReversed();
  if (parts.length < 1 || parts.length > 2 || !parts.every((part) => PART.test(part)))
    throw new ConfigurationError(
      `table is ${JSON.stringify(table)}; it must be a name such as leases or ops.leases, without quotes: letters, digits, _ and -, up to 50 in each part.`,
    );
  if (TAKEN.test(name) && name !== DEFAULT_NAME)
    throw new ConfigurationError(`table is '${table}'; its fences would be those of ${DEFAULT_NAME}. Give another name.`);
  if (schema !== undefined && !hasSchemas)
    throw new ConfigurationError(`table is '${table}'; SQLite has no schemas. Give the name alone.`);
  if (!hasSchemas && name.toLowerCase().startsWith("sqlite_"))
    throw new ConfigurationError(`table is '${table}'; SQLite keeps names that begin with sqlite_ for itself.`);
  return named(name, schema, quote);
}

/** Returns the name of a table without its schema and quotes, as the database lists it. */
export function bareName(table: string): string {
  return table.replace(/^.*\./, "").replace(/["`]/g, "");
}

function named(name: string, schema: string | undefined, quote: '"' | "`" | ""): Tables {
  const base = name === DEFAULT_NAME ? "leasehold" : name;
  const start = schema === undefined ? quote : `${quote}${schema}${quote}.${quote}`;
  return {
    leases: `${start}${name}${quote}`,
    fences: `${start}${base}_fences${quote}`,
    occurrences: `${start}${base}_occurrences${quote}`,
    guards: `${start}${base}_guards${quote}`,
    prefix: `${start}${base}`,
    schema,
  };
}
