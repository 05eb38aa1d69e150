import { setTimeout as delay } from "node:timers/promises";
import { SqlLeaseStore, type SqlLeaseStoreOptions } from "@leasehold/sql";
import { createPool as createCallbackPool } from "mysql2";
import { Pool } from "pg";
import { expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { statement } from "../src/mysql/mysql-driver.ts";
import { MySqlConnections } from "../src/mysql/mysql-pool.ts";
import { ALL, describeDatabases, SERVERS, type SqlWorld } from "./sql-world.ts";

/** For a call that has to wait for a lock until the test ends the wait. */
const UNHURRIED = { timeoutMs: 120_000 };

/** A user's pool, and what the user can observe of it. */
interface UsersPool {
  readonly pool: unknown;
  /** Runs a statement on all of its connections at once. */
  query(sql: string): Promise<void>;
  /** Takes a connection from the pool. The function that it returns gives the connection back. */
  take(): Promise<() => void>;
  counts(): { readonly all: number; readonly free: number; readonly waiting: number };
  end(): Promise<void>;
  readonly isEnded: () => boolean;
}

function usersPool(world: SqlWorld, max: number, place = world.place): UsersPool {
  if (world.kind === "postgres") {
    const pool = new Pool({ connectionString: place, max });
    const end = async (): Promise<void> => (pool.ended ? undefined : pool.end());
    world.onEnd(end);
    return {
      pool,
      query: async (sql) => {
        const clients = await Promise.all(Array.from({ length: max }, () => pool.connect()));
        for (const client of clients) await client.query(sql);
        for (const client of clients) client.release();
      },
      take: async () => {
        const client = await pool.connect();
        return once(world, () => client.release());
      },
      counts: () => ({ all: pool.totalCount, free: pool.idleCount, waiting: pool.waitingCount }),
      end,
      isEnded: () => pool.ended,
    };
  }
  const callbackPool = createCallbackPool({ uri: place, connectionLimit: max });
  const pool = callbackPool.promise();
  const inside = callbackPool as unknown as Record<
    "_allConnections" | "_freeConnections" | "_connectionQueue",
    { length: number }
  > & {
    _closed: boolean;
  };
  const end = async (): Promise<void> => (inside._closed ? undefined : pool.end());
  world.onEnd(end);
  return {
    pool,
    query: async (sql) => {
      const connections = await Promise.all(Array.from({ length: max }, () => pool.getConnection()));
      for (const connection of connections) await connection.query(sql);
      for (const connection of connections) connection.release();
    },
    take: async () => {
      const connection = await pool.getConnection();
      return once(world, () => connection.release());
    },
    counts: () => ({
      all: inside._allConnections.length,
      free: inside._freeConnections.length,
      waiting: inside._connectionQueue.length,
    }),
    end,
    isEnded: () => inside._closed,
  };
}

/** Gives back, and does so at the test's end at the latest. */
function once(world: SqlWorld, giveBack: () => void): () => void {
  let given = false;
  const give = (): void => {
    if (!given) giveBack();
    given = true;
  };
  world.onEnd(async () => give());
  return give;
}

/** Returns how many sessions the server has besides this one. */
async function sessions(world: SqlWorld): Promise<number> {
  const [row] = await world.run(
    world.kind === "mysql"
      ? "SELECT COUNT(*) AS n FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = 'root'"
      : "SELECT COUNT(*) AS n FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  );
  return Number(row?.["n"]);
}

await describeDatabases(ALL, (test) => {
  test("closing the store closes the connections that it opened", async ({ world }) => {
    // The server may still be ending the sessions of stores that were closed before.
    if (world.kind !== "sqlite") await expect.poll(() => sessions(world)).toBe(0);
    {
      await using store = new SqlLeaseStore({ [world.kind]: world.place } as unknown as SqlLeaseStoreOptions);
      await world.win(store);
      if (world.kind !== "sqlite") expect(await sessions(world)).toBeGreaterThan(0);
    }
    if (world.kind !== "sqlite") await expect.poll(() => sessions(world)).toBe(0);
  });
});

await describeDatabases(SERVERS, (test, kind) => {
  test("the store uses the user's pool, and does not close it", async ({ world }) => {
    const users = usersPool(world, 3);
    {
      await using store = new SqlLeaseStore({ [kind]: users.pool } as unknown as SqlLeaseStoreOptions);
      const lease = await world.win(store);
      await store.renew(lease, LIMITS);
      await store.release(lease, LIMITS);
    }
    expect(users.isEnded()).toBe(false);
    const { all, free, waiting } = users.counts();
    expect({ free, waiting }).toEqual({ free: all, waiting: 0 });
    (await users.take())();
  });

  if (kind === "mysql")
    test("a URL may say mariadb", async ({ world }) => {
      await expect(world.win(world.store(world.place.replace("mysql:", "mariadb:")))).resolves.toMatchObject({ term: 1 });
    });

  test("without a free connection a call ends in time; the connection that comes late goes back", async ({ world }) => {
    const users = usersPool(world, 1);
    const store = world.store(users.pool);
    const lease = await world.win(store);
    const giveBack = await users.take();
    for (const call of [() => store.renew(lease, { timeoutMs: 100 }), () => store.read(world.election, { timeoutMs: 100 })]) {
      await expect(call()).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    }
    expect(users.counts()).toMatchObject({ all: 1, free: 0 });
    giveBack();
    await expect.poll(() => users.counts()).toEqual({ all: 1, free: 1, waiting: 0 });
    // No part of that call was sent, and the same connection serves the next one.
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    expect(users.counts()).toEqual({ all: 1, free: 1, waiting: 0 });
  });

  test("a hundred calls leave no connection behind, won or lost or failed", async ({ world }) => {
    const users = usersPool(world, 4);
    const store = world.store(users.pool);
    const lease = await world.win(store);
    const rival = world.store(users.pool);
    const calls = Array.from({ length: 100 }, (_, index) =>
      [
        () => store.read(world.election),
        () => rival.acquire(world.acquiring()),
        () => rival.read(world.election, { timeoutMs: 1 }),
        () => store.publish(lease, `${index}`, { timeoutMs: 2 }),
      ][index % 4]?.(),
    );
    await Promise.allSettled(calls.map(async (call) => call));
    await expect
      .poll(() => {
        const { all, free, waiting } = users.counts();
        return [all - free, waiting];
      })
      .toEqual([0, 0]);
    await expect.poll(() => world.busy()).toEqual([]);
  });

  test("a connection whose statement was given up is closed, and the next call has another one", async ({ world }) => {
    const users = usersPool(world, 2);
    const store = world.store(users.pool);
    const lease = await world.win(store);
    const session = await world.session();
    await session.run("BEGIN");
    await session.run("UPDATE leasehold_leases SET term = term WHERE election = ?", [world.name()]);
    // Either the server's limit for lock waits ends the call, or the call's own time.
    const code: unknown = expect.stringMatching(/^STORE_(CONFLICT|TIMEOUT)$/);
    await expect(store.renew(lease, { timeoutMs: 100 })).rejects.toMatchObject({ code });
    // The statement stops waiting at the server soon, and is not carried out when the lock is free.
    await expect.poll(() => world.busy()).toEqual([]);
    const { version } = (await world.leaseRow()) ?? {};
    await session.run("COMMIT");
    expect(await world.leaseRow()).toMatchObject({ version });
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    const { all, free } = users.counts();
    expect(free).toBe(all);
  });

  test("the server ends idle connections: the process lives on, and so does the leadership", async ({ world }) => {
    const store = world.store();
    const lease = await world.win(store);
    await Promise.all([1, 2, 3].map(() => store.read(world.election)));
    const kill =
      kind === "mysql"
        ? (await world.run("SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = 'root'")).map(
            ({ id }) => `KILL ${String(id)}`,
          )
        : ["SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'leasehold'"];
    for (const sql of kill) await world.run(sql);
    // One call may still get a broken connection, and then fails cleanly.
    const outcomes = [];
    for (let tries = 0; tries < 5; tries += 1) {
      outcomes.push(await store.renew(lease, LIMITS).catch((error: unknown) => error));
    }
    expect(outcomes.at(-1)).toMatchObject({ held: true });
    for (const outcome of outcomes) {
      if (outcome instanceof Error) expect(outcome).toMatchObject({ code: "STORE_UNAVAILABLE" });
    }
  });

  test("a connection that is killed in the middle of a statement fails that call alone", async ({ world }) => {
    const store = world.store();
    const lease = await world.win(store);
    const session = await world.session();
    for (let round = 0; round < 3; round += 1) {
      await session.run("BEGIN");
      await session.run("UPDATE leasehold_leases SET term = term WHERE election = ?", [world.name()]);
      const renewal = failureOf(store.renew(lease, UNHURRIED));
      await expect.poll(async () => (await world.busy()).length).toBe(1);
      const id = String((await world.busy())[0]?.["id"]);
      await world.run(kind === "mysql" ? `KILL ${id}` : `SELECT pg_terminate_backend(${id})`);
      await expect(renewal).resolves.toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
      await session.run("ROLLBACK");
      await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    }
  });

  test("a statement that an administrator cancels has timed out", async ({ world }) => {
    const store = world.store();
    const lease = await world.win(store);
    const session = await world.session();
    await session.run("BEGIN");
    await session.run("UPDATE leasehold_leases SET term = term WHERE election = ?", [world.name()]);
    const renewal = failureOf(store.renew(lease, UNHURRIED));
    await expect.poll(async () => (await world.busy()).length).toBe(1);
    const id = String((await world.busy())[0]?.["id"]);
    await world.run(kind === "mysql" ? `KILL QUERY ${id}` : `SELECT pg_cancel_backend(${id})`);
    await expect(renewal).resolves.toMatchObject({ code: "STORE_TIMEOUT" });
    await session.run("ROLLBACK");
  });

  test("a store that is closed while it cancels a statement closes without an error", async ({ world }) => {
    const session = await world.session();
    if (kind === "postgres") await session.run("BEGIN");
    await session.run(
      kind === "mysql" ? "LOCK TABLES leasehold_leases WRITE" : "LOCK TABLE leasehold_leases IN ACCESS EXCLUSIVE MODE",
    );
    const stores = Array.from({ length: 8 }, () => world.store());
    await Promise.all(
      stores.map(async (store, at) => {
        await expect(store.read(world.election, { timeoutMs: 60 })).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
        // At any step of the new connection for the cancellation.
        await delay(at);
        await store.close();
      }),
    );
    // Each statement is cancelled, although its table stays locked. The exception is a statement whose store was closed before
    // that.
    await session.run(kind === "mysql" ? "UNLOCK TABLES" : "ROLLBACK");
    await expect.poll(() => world.busy()).toEqual([]);
  });

  if (kind === "mysql")
    test("on MySQL, which has no limit in the statement, a session of the store's own waits for locks for 2 s", async ({
      world,
    }) => {
      const connections = new MySqlConnections(world.place);
      world.onEnd(() => connections.close());
      const connection = await connections.get();
      const [rows] = await connection.query(statement("SELECT @@innodb_lock_wait_timeout AS s, @@lock_wait_timeout AS t", []));
      connections.release(connection);
      expect(rows).toEqual([{ s: 2, t: 2 }]);
    });

  test("a read that is given up is cancelled at the server", async ({ world }) => {
    const session = await world.session();
    if (kind === "postgres") await session.run("BEGIN");
    await session.run(
      kind === "mysql" ? "LOCK TABLES leasehold_leases WRITE" : "LOCK TABLE leasehold_leases IN ACCESS EXCLUSIVE MODE",
    );
    await expect(world.store().read(world.election, { timeoutMs: 100 })).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    await expect.poll(() => world.busy()).toEqual([]);
    await session.run(kind === "mysql" ? "UNLOCK TABLES" : "ROLLBACK");
  });

  test("a write that waits for a lock in vain names the session that holds it, its age and its address", async ({ world }) => {
    const store = world.store();
    const lease = await world.win(store);
    const session = await world.session();
    const [self] = await session.run(kind === "mysql" ? "SELECT CONNECTION_ID() AS id" : "SELECT pg_backend_pid() AS id");
    await session.run("BEGIN");
    await session.run("UPDATE leasehold_leases SET term = term WHERE election = ?", [world.name()]);
    const error = await failureOf(store.renew(lease, { timeoutMs: 8_000 }));
    expect(error).toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: false });
    const id = String(self?.["id"]);
    expect(error.message).toMatch(
      new RegExp(
        `waited for a lock that (connection|process) ${id} holds \\(\\w+ from [\\d.]+:\\d+, .*\\), in a transaction of \\d+ s\\.`,
      ),
    );
    await session.run("ROLLBACK");
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("connections that read and refuse writes are closed, all of them, and the next call has a new one", async ({ world }) => {
    const users = usersPool(world, 3);
    const store = world.store(users.pool);
    const lease = await world.win(store);
    await users.query(
      kind === "mysql" ? "SET SESSION TRANSACTION READ ONLY" : "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    );
    expect(users.counts()).toMatchObject({ all: 3, free: 3 });
    await expect(store.renew(lease, LIMITS)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false });
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    await expect.poll(() => users.counts()).toEqual({ all: 1, free: 1, waiting: 0 });
  });

  test("after one call without an answer the next has a new connection, however many are dead", async ({ world }) => {
    const { proxy, url } = await world.network();
    const users = usersPool(world, 10, url);
    const store = world.store(users.pool);
    const lease = await world.win(store);
    await users.query("SELECT 1");
    expect(users.counts()).toMatchObject({ all: 10, free: 10 });
    proxy.forget();
    await expect(store.renew(lease, { timeoutMs: 500 })).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });
});
