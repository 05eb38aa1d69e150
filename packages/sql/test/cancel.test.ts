import { expect, test } from "vitest";
import { MySqlConnections, type MySqlPoolConnection } from "../src/mysql/mysql-pool.ts";

/** A connection whose server runs a statement of ours under that number, or does not. */
function connectionTo(ours: boolean): { readonly connection: MySqlPoolConnection; readonly statements: string[] } {
  const statements: string[] = [];
  const query = (options: object): Promise<readonly [unknown]> => {
    const { sql } = options as { readonly sql: string };
    statements.push(sql);
    return Promise.resolve([sql.startsWith("SELECT") && ours ? [{ id: 5 }] : []]);
  };
  return { connection: { threadId: 9, query, release: () => undefined, destroy: () => undefined }, statements };
}

test.for([
  [true, ["KILL QUERY 5"]],
  [false, []],
] as const)("a cancellation ends a statement only if it is one of ours: %s", async ([ours, kills]) => {
  const { connection, statements } = connectionTo(ours);
  const connections = new MySqlConnections("mysql://nobody@127.0.0.1/nowhere");

  await connections.cancel({ ...connection, threadId: 5 }, connection);

  expect(statements.filter((sql) => sql.startsWith("KILL"))).toEqual(kills);
});
