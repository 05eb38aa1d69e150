/** The option `table`. The suites of the other drivers run on odd names too: see `ODD_TABLE`. */
import { SqlLeaseStore, type SqlLeaseStoreOptions } from "@leasehold/sql";
import { expect, test as plainTest } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { fences, lives } from "./drivers/life-of-a-lease.ts";
import { ALL, describeDatabases, SERVERS, type Kind, type SqlWorld } from "./sql-world.ts";

/** A schema, and a table named by a word of SQL. */
const NAMES: Readonly<Record<Kind, string>> = { sqlite: "Order", mysql: "odd-1.order", postgres: "Odd-1.Order" };

function storeOn(world: SqlWorld, table: string, place: string = world.place): SqlLeaseStore {
  const store = new SqlLeaseStore({ [world.kind]: place, table } as unknown as SqlLeaseStoreOptions);
  world.onEnd(() => store.close());
  return store;
}

async function withSchema(world: SqlWorld): Promise<void> {
  if (world.kind === "mysql") await world.run("CREATE DATABASE IF NOT EXISTS `odd-1`");
  if (world.kind === "postgres") await world.run('CREATE SCHEMA IF NOT EXISTS "Odd-1"');
}

await describeDatabases(ALL, (test, kind) => {
  const table = NAMES[kind];

  test("a store elects, fences, lists and claims in its own tables, beside one in the default tables", async ({ world }) => {
    await withSchema(world);
    const store = storeOn(world, table);
    await store.migrate();
    await expect(store.check({ election: world.election })).resolves.toMatchObject({ warnings: expect.any(Array) });
    await lives(world, store, storeOn(world, table));
    await expect(world.win(world.store())).resolves.toMatchObject({ term: 1 });
    const listed = [];
    for await (const { election } of store.list(world.election)) listed.push(election);
    expect(listed).toEqual([world.election]);

    const session = await world.session();
    await session.run(`CREATE TABLE IF NOT EXISTS guarded (election ${kind === "mysql" ? "VARCHAR(100)" : "TEXT"})`);
    await store.break(world.election, { reason: "r", immediate: true });
    await fences(world, store, {
      query: (connection: { query: (sql: string) => Promise<unknown>; exec: (sql: string) => unknown }) => async (sql) =>
        kind === "sqlite" ? connection.exec(sql) : connection.query(sql),
      written: () => session.run("SELECT * FROM guarded WHERE election = ?", [world.election]),
    });

    const occurrences = store.occurrences(world.election, { retentionMs: 60_000 });
    const claim = await world.win(occurrences, { election: "monday" });
    await expect(occurrences.complete(claim, LIMITS)).resolves.toBe("released");
    await expect(world.store().occurrences(world.election, { retentionMs: 60_000 }).read("monday")).resolves.toBeUndefined();
  });

  test("the name of the default table keeps the other tables, and every other name has tables of its own", ({ world }) => {
    const names = (store: SqlLeaseStore): readonly string[] =>
      store.migration.map((sql) => /EXISTS (\S+) /.exec(sql)![1]!.replace(/["`]/g, "")).toSorted();
    expect(names(storeOn(world, "leasehold_leases"))).toEqual(names(world.store()));
    const own = ["app", "app_leases", "leases"].flatMap((name) => names(storeOn(world, name)));
    expect(own).toContain("app_leases_fences");
    expect(new Set([...own, ...names(world.store())]).size).toBe(own.length + names(world.store()).length);
  });

  test("a table without its key is named as the statement that repairs it needs", async ({ world }) => {
    await withSchema(world);
    // Each file of SQLite has tables of its own.
    const store = storeOn(world, `${table}2`);
    const session = await world.session(kind === "sqlite" ? `${world.place}-leasehold` : world.place);
    const own = kind === "sqlite" ? store.migration.slice(2) : store.migration;
    for (const sql of own)
      await session.run(sql.replace(/ NOT NULL PRIMARY KEY| PRIMARY KEY NOT NULL|(?<="C") PRIMARY KEY/, " NOT NULL"));
    const { message } = await failureOf(store.migrate());
    await session.run(/(?<=run: ).*(?=$)/.exec(message)![0]);
    const rest = await failureOf(store.migrate()).then(
      ({ message: next }) => next,
      () => "",
    );
    if (kind !== "sqlite") await session.run(/(?<=run: ).*(?=$)/.exec(rest)![0]);
    await store.migrate();
    await expect(world.win(store)).resolves.toMatchObject({ term: 1 });
  });
});

await describeDatabases(SERVERS, (test, kind) => {
  test("a schema that is missing is named, and the remedy too", async ({ world }) => {
    const error = await failureOf(storeOn(world, "not_there.leases").migrate());
    expect(error).toMatchObject({ code: "STORE_MISSING", message: expect.stringContaining("not_there") });
    expect(error.message).toMatch(/Create the (schema|database) first/);
  });

  test("a guarded transaction of one table delays no acquisition in another", async ({ world }) => {
    await withSchema(world);
    const store = storeOn(world, NAMES[kind]);
    await store.migrate();
    const lease = await world.win(world.store());
    const session = await world.session();
    await session.run("BEGIN");
    await world.store().fence(lease, session.connection);
    await expect(world.win(store)).resolves.toMatchObject({ term: 1 });
    await session.rollback();
  });
});

const AT = { postgres: "postgres://u@h/d" };
plainTest.for<[options: object, message: RegExp]>([
  [{ ...AT, table: "" }, /^table is ""; it must be a name such as leases or ops\.leases, without quotes/],
  [{ ...AT, table: 5 }, /^table is 5; it must be a name/],
  [{ ...AT, table: '"ops"."leases"' }, /without quotes/],
  [{ ...AT, table: "a.b.c" }, /it must be a name/],
  [{ ...AT, table: "leases; DROP TABLE bills" }, /letters, digits, _ and -/],
  [{ ...AT, table: "a$1" }, /letters, digits/],
  [{ ...AT, table: "a".repeat(51) }, /up to 50/],
  [{ ...AT, table: undefined }, /^table is undefined\. If it comes from the environment/],
  [{ ...AT, table: "leasehold" }, /^table is 'leasehold'; its fences would be those of leasehold_leases/],
  [{ ...AT, table: "ops.Leasehold_Leases" }, /its fences would be those/],
  [{ sqlite: "/tmp/never.db", table: "ops.leases" }, /SQLite has no schemas/],
  [{ sqlite: "/tmp/never.db", table: "Sqlite_leases" }, /keeps names that begin with sqlite_/],
])("%o is refused at construction", ([options, message]) => {
  expect(() => new SqlLeaseStore(options as unknown as SqlLeaseStoreOptions)).toThrow(message);
});
