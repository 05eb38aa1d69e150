import { expect, test } from "vitest";
import { describeDatabases, SERVERS } from "./sql-world.ts";
import type { MySqlPoolConnection } from "../src/mysql/mysql-driver.ts";
import { MySqlConnections } from "../src/mysql/mysql-pool.ts";
import type { PostgresPoolClient } from "../src/postgres/postgres-driver.ts";
import { PostgresConnections } from "../src/postgres/postgres-pool.ts";
import { tablesOf } from "../src/tables.ts";

interface Server {
  /** True if the connection with that number runs a statement of the store. */
  readonly ours: boolean;
  readonly refuses?: boolean;
}

/** A connection to a server. */
function connectionTo({ ours, refuses = false }: Server): {
  readonly connection: MySqlPoolConnection;
  readonly statements: string[];
} {
  const statements: string[] = [];
  const query = async (options: object): Promise<readonly [unknown]> => {
    const { sql } = options as { readonly sql: string };
    statements.push(sql);
    if (!sql.startsWith("SELECT") && refuses) throw new Error("You are not its owner.");
    return [sql.startsWith("SELECT") && ours ? [{ id: 5 }] : []];
  };
  return { connection: { threadId: 9, query, release: () => undefined, destroy: () => undefined }, statements };
}

const mysql = new MySqlConnections("mysql://nobody@127.0.0.1/nowhere");

test.for([
  [true, ["KILL QUERY 5"]],
  [false, []],
] as const)("a cancellation ends a statement only if it is one of ours: %s", async ([ours, kills]) => {
  const { connection, statements } = connectionTo({ ours });

  await mysql.cancel({ ...connection, threadId: 5 }, connection);

  expect(statements.filter((sql) => sql.startsWith("KILL"))).toEqual(kills);
});

test("a cancellation knows a statement of ours by the beginning of the tables' names", async () => {
  const own = new MySqlConnections("mysql://nobody@127.0.0.1/nowhere", tablesOf("ops.leases", { quote: "`", hasSchemas: true }));
  const asked: unknown[] = [];
  const query = async (options: object): Promise<readonly [unknown]> => {
    asked.push((options as { readonly values: unknown }).values);
    return [[]];
  };
  await own.cancel({ threadId: 5 } as MySqlPoolConnection, { query } as unknown as MySqlPoolConnection);
  const names = tablesOf("ops.leases", { quote: '"', hasSchemas: true });
  const postgres = new PostgresConnections("postgres://nobody@127.0.0.1/nowhere", names);
  await postgres.cancel({ processID: 5 } as PostgresPoolClient, { query } as unknown as PostgresPoolClient);
  expect(asked).toEqual([
    [5, "`ops`.`leases"],
    [5, '"ops"."leases'],
  ]);
});

test("a cancellation is over when the server has answered, also if it refuses", async () => {
  const { connection } = connectionTo({ ours: true, refuses: true });
  await expect(mysql.cancel({ ...connection, threadId: 5 }, connection)).rejects.toThrow("You are not its owner.");

  const refusing = { processID: 5, query: () => Promise.reject(new Error("no")) } as unknown as PostgresPoolClient;
  const postgres = new PostgresConnections("postgres://nobody@127.0.0.1/nowhere");
  await expect(postgres.cancel(refusing, refusing)).rejects.toThrow("no");
});

await describeDatabases(SERVERS, (sqlTest, kind) => {
  sqlTest("a cancellation spares a write that has the same number: it may be waiting for its replica", async ({ world }) => {
    await world.win(world.store());
    const other = await world.session();
    await other.run("BEGIN");
    const write = "UPDATE leasehold_fences SET term = term WHERE election = ?";
    await other.run(write, [world.name()]);
    const session = await world.session();
    const number = kind === "mysql" ? "SELECT CONNECTION_ID() AS id" : "SELECT pg_backend_pid() AS id";
    const id = Number((await session.run(number))[0]?.["id"]);
    const writing = session.run(write, [world.name()]);
    await expect.poll(() => world.busy()).toHaveLength(1);

    if (kind === "mysql") {
      const connections = new MySqlConnections(world.place);
      world.onEnd(() => connections.close());
      const by = await connections.get();
      await connections.cancel({ ...by, threadId: id }, by);
      connections.release(by);
    } else {
      const connections = new PostgresConnections(world.place);
      world.onEnd(() => connections.close());
      const by = await connections.get();
      await connections.cancel({ processID: id } as PostgresPoolClient, by);
      connections.release(by);
    }
    await other.run("COMMIT");
    await expect(writing).resolves.toBeDefined();
  });
});
