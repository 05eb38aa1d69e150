import { endOfPrefix, type ListedRecord, type ListRecordsOptions, type RecordRequestOptions } from "@leasehold/core/provider";
import { stored, textOf, type Row } from "./schema.ts";

/** The part of a statement that selects one page of rows by their names, and the values of its parameters. */
export interface Page {
  readonly clauses: string;
  readonly values: readonly string[];
}

/** The least character that a name may be followed by. No name has a control character, so no name lies between. */
const NEXT = "\u0001";

/**
 * Lists the rows of the leases whose names begin with `prefix`, page by page. Names compare byte by byte, so they are one range, in
 * which each page begins after the last name of the one before.
 *
 * @param parameter returns the placeholder of the parameter with that number, from 1, in the database's own notation.
 * @param read sends the statement of one page.
 */
export async function* listRows(
  prefix: string,
  { pageSize, request }: ListRecordsOptions,
  parameter: (number: number) => string,
  read: (page: Page, options: RecordRequestOptions) => Promise<readonly Row[]>,
): AsyncGenerator<ListedRecord> {
  const end = endOfPrefix(prefix);
  const below = end === undefined ? "" : ` AND election < ${parameter(2)}`;
  const clauses = `WHERE election >= ${parameter(1)}${below} ORDER BY election LIMIT ${pageSize}`;
  let from = prefix;
  for (;;) {
    const values = end === undefined ? [from] : [from, end];
    const rows = await request(async (options) => await read({ clauses, values }, options));
    for (const row of rows) {
      const found = stored(row);
      if (found) yield { election: nameOf(row), stored: found };
    }
    const last = rows.at(-1);
    if (!last || rows.length < pageSize) return;
    from = nameOf(last) + NEXT;
  }
}

function nameOf(row: Row): string {
  return textOf(row["election"]) ?? "";
}
