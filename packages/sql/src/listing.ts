import { endOfPrefix, type ListedRecord, type ListRecordsOptions, type RecordRequestOptions } from "@leasehold/core/provider";
import { stored, textOf, type RecordTable, type Row } from "./schema.ts";

/** The part of a statement that selects one page of rows, in the order of a column with their names. */
export interface Page {
  readonly column: string;
  readonly clauses: string;
  readonly values: readonly string[];
}

/** The least character that a name may be followed by. No name has a control character, so no name lies between. */
const NEXT = "\u0001";

/**
 * Lists the rows of a table whose names begin with `prefix`, page by page. The name is the last column of the key; `keyOf` gives
 * the columns before it. Names compare byte by byte, so they are one range, in which each page begins after the last name of the
 * one before.
 * @param parameter returns the placeholder of the parameter with that number, from 1.
 */
export async function* listRows(
  prefix: string,
  { pageSize, request }: ListRecordsOptions,
  { key, keyOf }: Pick<RecordTable, "key" | "keyOf">,
  parameter: (number: number) => string,
  read: (page: Page, options: RecordRequestOptions) => Promise<readonly Row[]>,
): AsyncGenerator<ListedRecord> {
  const column = key.at(-1) ?? "";
  const end = endOfPrefix(prefix);
  const bounds = end === undefined ? [] : [end];
  const below = bounds.map(() => ` AND ${column} < ${parameter(2)}`).join("");
  const scope = keyOf(prefix).slice(0, -1);
  const scoped = scope.map((_, at) => ` AND ${key[at]} = ${parameter(bounds.length + 2 + at)}`).join("");
  const clauses = `WHERE ${column} >= ${parameter(1)}${below}${scoped} ORDER BY ${column} LIMIT ${pageSize}`;
  const nameOf = (row: Row): string => textOf(row[column]) ?? "";
  let from = prefix;
  for (;;) {
    const values = [from, ...bounds, ...scope];
    const rows = await request(async (options) => await read({ column, clauses, values }, options));
    for (const row of rows) {
      const found = stored(row);
      if (found) yield { election: nameOf(row), stored: found };
    }
    const last = rows.at(-1);
    if (!last || rows.length < pageSize) return;
    from = nameOf(last) + NEXT;
  }
}
