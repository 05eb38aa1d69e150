/** The handles of drivers other than `pg`, `mysql2` and `node:sqlite`, each on a real database. */
import type { neon } from "@neondatabase/serverless";
import { createPool } from "mariadb";
import postgres from "postgres";
import { FencedError } from "@leasehold/core";
import { isFenced } from "@leasehold/sql";
import { expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { statement, type MySqlPool } from "../../src/mysql/mysql-driver.ts";
import { poolOrUrl } from "../../src/mysql/mysql-handles.ts";
import { describeDatabases, type SqlWorld } from "../sql-world.ts";
import { fences, lives, type Query } from "./life-of-a-lease.ts";
import { MARIADB } from "./mysql-drivers.ts";
import { NEON_HTTP, NEON_WEBSOCKET, POSTGRES_JS, type Driver } from "./postgres-drivers.ts";

interface Ending {
  end(): Promise<unknown>;
}

/** Ends a handle under its store, each call of which then has to say so. */
async function saysThatItEnded(world: SqlWorld, handle: Ending): Promise<void> {
  const store = world.store(handle);
  const lease = await world.win(store);
  await handle.end();
  for (const call of [() => store.read(world.election), () => store.renew(lease, LIMITS)])
    await expect(call()).rejects.toMatchObject({
      code: "STORE_REJECTED",
      mayHaveBeenApplied: false,
      message: expect.stringMatching(/ The handle .* is closed\./),
    });
}

await describeDatabases(["postgres"], (test) => {
  const CREATE = "CREATE TABLE IF NOT EXISTS guarded (election text)";
  const written = async (world: SqlWorld): Promise<readonly unknown[]> =>
    await world.run("SELECT * FROM guarded WHERE election = ?", [world.election]);

  async function handleOf(world: SqlWorld, driver: Driver): Promise<unknown> {
    const serving = await driver.serve?.(world.place);
    if (serving) world.onEnd(async () => serving[Symbol.asyncDispose]());
    const opened = driver.open({ host: "127.0.0.1", port: serving?.port ?? world.daemon.port, schema: "public" });
    world.onEnd(async () => opened[Symbol.asyncDispose]());
    return opened.handle;
  }

  test.for([POSTGRES_JS, NEON_HTTP, NEON_WEBSOCKET])(
    "a store on a handle of $name elects with one on a URL",
    async (driver, { world }) => {
      const store = world.store(await handleOf(world, driver));
      await store.migrate();
      await lives(world, store, world.store());
      await expect(store.check({ election: world.election })).resolves.toMatchObject({
        warnings: driver === NEON_HTTP ? [expect.stringContaining("by HTTP")] : [],
      });
    },
  );

  test("a store on postgres.js with names in another case reads its own columns", async ({ world }) => {
    const sql = postgres(world.place, { transform: postgres.camel, types: { bigint: postgres.BigInt } });
    world.onEnd(() => sql.end({ timeout: 0 }));
    await lives(world, world.store(sql), world.store());
  });

  test("a store on postgres.js is notified, and stays so after its connection broke", async ({ world }) => {
    const store = world.store(await handleOf(world, POSTGRES_JS));
    const lease = await world.win(store);
    const stop = new AbortController();
    const watch = store.watch!(world.election, { signal: stop.signal })[Symbol.asyncIterator]();
    await watch.next();
    const changed = watch.next();
    await world.store().break(world.election, { reason: "r" });
    await changed;
    const again = watch.next();
    await world.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ILIKE 'listen%'");
    await again;
    stop.abort();
    expect(lease.term).toBe(1);
  });

  test("a connection of postgres.js that was left in a transaction never makes a leader, and is rolled back", async ({
    world,
  }) => {
    const sql = postgres(world.place, { max: 1, onnotice: () => undefined });
    world.onEnd(() => sql.end({ timeout: 0 }));
    const reserved = await sql.reserve();
    await reserved`BEGIN`;
    reserved.release();
    const store = world.store(sql);
    await expect(store.acquire(world.acquiring())).rejects.toMatchObject({ code: "STORE_REJECTED" });
    await expect(world.win(store)).resolves.toMatchObject({ term: 1 });
    await expect(world.store().read(world.election)).resolves.toMatchObject({ term: 1 });
  });

  test.for([POSTGRES_JS, NEON_WEBSOCKET])("a call on a handle of $name that has ended says so", async (driver, { world }) => {
    await saysThatItEnded(world, (await handleOf(world, driver)) as Ending);
  });

  test("a call that waits for a connection of postgres.js which the server ends gets another one", async ({ world }) => {
    const sql = postgres(world.place, { max: 1, onnotice: () => undefined });
    world.onEnd(() => sql.end({ timeout: 0 }));
    const store = world.store(sql);
    await world.win(store);
    const reserved = await sql.reserve();
    const [{ pid } = {}] = await reserved`SELECT pg_backend_pid() AS pid`;
    const reading = store.read(world.election, { timeoutMs: 60_000 });
    await world.run("SELECT pg_terminate_backend(?)", [pid]);
    await expect(reading).resolves.toMatchObject({ term: 1 });
  });

  test("fence() in a transaction of postgres.js refuses a frozen leader, even if the error is swallowed", async ({ world }) => {
    await world.run(CREATE);
    const sql = (await handleOf(world, POSTGRES_JS)) as postgres.Sql;
    const store = world.store(sql);
    await fences(world, store, {
      query: (tx: postgres.TransactionSql) => async (text) => tx.unsafe(text),
      written: () => written(world),
    });
    const stale = { election: world.election, term: 1, termId: "t" };
    const transaction = sql.begin(async (tx) => {
      await store.fence(stale, tx).catch(() => undefined);
      await tx`INSERT INTO guarded VALUES (${world.election})`.catch(() => undefined);
    });
    expect(isFenced(await failureOf(transaction))).toBe(true);
    await expect(written(world)).resolves.toHaveLength(1);
    await expect(store.fence(stale, sql)).rejects.toMatchObject({ code: "FENCED" });
  });

  test("the fence's text in a transaction of Neon by HTTP refuses a frozen leader", async ({ world }) => {
    await world.run(CREATE);
    const sql = (await handleOf(world, NEON_HTTP)) as ReturnType<typeof neon>;
    const store = world.store(sql);
    const lease = await world.win(store);
    const { text, values } = store.fenceSql(lease);
    const transact = async (): Promise<unknown> =>
      await sql.transaction([sql.query(text, [...values]), sql`INSERT INTO guarded VALUES (${world.election})`]);
    await transact();
    await expect(written(world)).resolves.toHaveLength(1);
    await store.release(lease, LIMITS);
    expect(isFenced(await failureOf(transact()))).toBe(true);
    await expect(written(world)).resolves.toHaveLength(1);
    await expect(store.fencedTransaction(lease, () => undefined)).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });

  test("the sql of a transaction of postgres.js is refused at construction, and says so", async ({ world }) => {
    const sql = postgres(world.place);
    world.onEnd(() => sql.end({ timeout: 0 }));
    await sql.begin((tx) => {
      expect(() => world.store(tx)).toThrow(
        /This sql is that of one connection: give the store the sql that postgres\(\) returned/,
      );
    });
  });
});

await describeDatabases(["mysql"], (test) => {
  const addressOf = ({ daemon, place }: SqlWorld) => ({
    ...{ host: "127.0.0.1", port: daemon.port, user: "root" },
    database: new URL(place).pathname.slice(1),
  });

  test("a store on a pool of mariadb elects with one on a URL, and fences", async ({ world }) => {
    await world.run("CREATE TABLE IF NOT EXISTS guarded (election VARCHAR(100))");
    const opened = MARIADB.open(addressOf(world));
    world.onEnd(async () => opened[Symbol.asyncDispose]());
    const store = world.store(opened.handle);
    await store.migrate();
    await lives(world, store, world.store());
    const written = async (): Promise<readonly unknown[]> =>
      world.run("SELECT * FROM guarded WHERE election = ?", [world.election]);
    await store.break(world.election, { reason: "r", immediate: true });
    await fences(world, store, { query: (connection: { query: Query }) => connection.query.bind(connection), written });
    await expect(store.check({ election: world.election })).resolves.toMatchObject({ warnings: [] });
  });

  test.for([
    ["swallowed", true],
    ["not awaited", false],
  ] as const)("on mariadb a fence whose error is %s lets nothing be committed", async ([, isAwaited], { world }) => {
    await world.run("CREATE TABLE IF NOT EXISTS guarded (election VARCHAR(100))");
    const pool = createPool({ ...addressOf(world), connectionLimit: 2 });
    world.onEnd(() => pool.end());
    const store = world.store(pool);
    const lease = await world.win(store);
    await store.release(lease, LIMITS);
    const connection = await pool.getConnection();
    connection.on("error", () => undefined);
    await connection.beginTransaction();
    const fencing = failureOf(store.fence(lease, connection));
    if (isAwaited) await fencing;
    await connection.query("INSERT INTO guarded VALUES (?)", [world.election]).catch(() => undefined);
    await connection.commit().catch(() => undefined);
    expect(await fencing).toBeInstanceOf(FencedError);
    await connection.release();
    await expect(world.run("SELECT * FROM guarded WHERE election = ?", [world.election])).resolves.toEqual([]);
  });

  test("a write on a connection of mariadb that is destroyed goes on at the server", async ({ world }) => {
    await world.run("CREATE TABLE IF NOT EXISTS counters (election VARCHAR(100) PRIMARY KEY, writes INT)");
    await world.run("INSERT INTO counters VALUES (?, 0)", [world.election]);
    const pool = createPool({ ...addressOf(world), connectionLimit: 2 });
    world.onEnd(() => pool.end());
    const locking = await pool.getConnection();
    await locking.beginTransaction();
    await locking.query("UPDATE counters SET writes = 1 WHERE election = ?", [world.election]);

    const connection = await (poolOrUrl(pool) as MySqlPool).getConnection();
    const waiting = connection.query(statement("UPDATE counters SET writes = writes + 1 WHERE election = ?", [world.election]));
    connection.destroy();
    // The connector's own destroy() rejects once it has had the statement killed.
    await failureOf(Promise.resolve(waiting));
    await locking.commit();
    await locking.release();

    await expect
      .poll(async () => world.run("SELECT writes FROM counters WHERE election = ?", [world.election]))
      .toEqual([{ writes: 2 }]);
    await expect(pool.query("SELECT 1 AS one")).resolves.toMatchObject([{ one: 1 }]);
  });

  test("a call on a pool of mariadb that has ended says so", async ({ world }) => {
    await saysThatItEnded(world, createPool({ ...addressOf(world), connectionLimit: 2 }));
  });

  test("an error of mariadb shows neither the statement nor its values", async ({ world }) => {
    const pool = createPool({ ...addressOf(world), database: "mysql", logParam: true });
    world.onEnd(() => pool.end());
    const error = await failureOf(world.store(pool).read(world.election));
    expect(error).toMatchObject({ code: "STORE_MISSING" });
    expect(error.message).not.toMatch(/SELECT|parameters/);
  });
});
