import type { Tables } from "../tables.ts";

/**
 * Returns a query of the unique indexes of the store's tables, in the form that `checkKeys` takes. An index that is partial,
 * deferrable or invalid does not count.
 */
export function uniqueIndexes({ leases, fences, occurrences }: Tables): string {
  return `SELECT c.relname AS table_name, (
  SELECT string_agg(a.attname::text, ',' ORDER BY a.attname) FROM pg_attribute a
  WHERE a.attrelid = c.oid AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
) AS key_columns
FROM pg_class c LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
  AND i.indpred IS NULL AND i.indexprs IS NULL
WHERE c.oid IN (to_regclass('${leases}'), to_regclass('${fences}'), to_regclass('${occurrences}')) AND c.relkind IN ('r', 'p')`;
}

/** Reads the settings that {@link postgresWarnings} judges. */
export const SETTINGS = "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes')";

/** Returns a warning for each of these settings by which the server may lose acknowledged writes. */
export function postgresWarnings(settings: ReadonlyMap<string, string>): string[] {
  return ["fsync", "full_page_writes"]
    .filter((name) => settings.get(name) === "off")
    .map(
      (name) =>
        `${name} is off: a crash of the server's machine may lose acknowledged writes, or the whole database. Set it to on.`,
    );
}
