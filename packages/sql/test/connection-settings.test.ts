import { fenceOfRecord, type LeaseRecord } from "@leasehold/core/provider";
import { Elector } from "@leasehold/core";
import { createPool as createCallbackPool } from "mysql2";
import { createPool, type PoolOptions } from "mysql2/promise";
import { Client, type CustomTypesConfig, Pool, type PoolConfig, types as pgTypes } from "pg";
import { describe, expect } from "vitest";
import { failureOf } from "@leasehold/test-kit/failure";
import { describeDatabases, recordOf, SERVERS, type SqlWorld } from "./sql-world.ts";

const signal = new AbortController().signal;
const RECORD: LeaseRecord = recordOf({
  candidateId: "κ👩‍🚀\\'",
  value: "\0 é 👩‍🚀 \\ ' \" `",
  broken: { reason: "wörds\\", id: "order" },
  bars: [{ untilMs: 1.5, except: { candidateId: "to' \\" }, reason: "wörds\\ \0", id: "order" }],
});

/** Writes and reads the most difficult values through that pool. */
async function roundTrip(world: SqlWorld, pool: unknown): Promise<void> {
  const rows = world.rows(pool);
  const election = `é👩‍🚀\\' ${world.election}`;
  const fence = fenceOfRecord(RECORD);
  const first = await rows.put(election, recordOf(), { ifVersion: undefined, keepsNonce: false, fence, signal });
  if (!first.stored) return expect.fail("It should have been stored.");
  const outcome = await rows.put(election, RECORD, { ifVersion: first.version, keepsNonce: false, fence, signal });
  expect(outcome.stored).toBe(true);
  const found = await rows.get(election, { signal, consistent: true });
  expect(found?.data).toStrictEqual(RECORD);
  const [min = NaN, max = NaN] = found?.nonceAgeMs ?? [];
  // The age is less than an hour, so no other clock or time zone was used.
  expect(min).toBeGreaterThanOrEqual(0);
  expect(max).toBeLessThan(60_000);
  expect(await world.fenceRow(election)).toMatchObject({ term: 1, term_id: null });
}

await describeDatabases(["mysql"], (test) => {
  const OPTIONS: Readonly<Record<string, PoolOptions>> = {
    "of Latin-1": { charset: "latin1" },
    "of an old UTF-8": { charset: "utf8" },
    "with named placeholders": { namedPlaceholders: true },
    "that gives rows as arrays": { rowsAsArray: true },
    "that nests tables": { nestTables: true },
    "that gives dates as text": { dateStrings: true },
    "in another time zone": { timezone: "+13:45" },
    "with big numbers as text": { supportBigNumbers: true, bigNumberStrings: true },
    "with decimal numbers": { decimalNumbers: true },
    "that leaves types as they are": { typeCast: false },
    "with types of its own": { typeCast: () => "of its own" },
    "that gives objects as text": { stringifyObjects: true },
    "that counts changed rows only": { flags: ["-FOUND_ROWS"] },
    "with several statements at once": { multipleStatements: true },
    "with debugging columns": { trace: false, insecureAuth: true },
  };

  test.for(Object.entries(OPTIONS))("a pool %s does", async ([, options], { world }) => {
    const pool = createPool({ uri: world.place, ...options });
    world.onEnd(() => pool.end());
    await roundTrip(world, pool);
  });

  test("a pool of mysql2 without promises works", async ({ world }) => {
    const pool = createCallbackPool({ uri: world.place });
    world.onEnd(() => pool.promise().end());
    await roundTrip(world, pool);
  });

  test.for([
    "SET SESSION sql_mode = ''",
    "SET SESSION sql_mode = 'ANSI'",
    "SET SESSION sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'",
    "SET SESSION sql_mode = 'TRADITIONAL,NO_ZERO_DATE,ONLY_FULL_GROUP_BY'",
    "SET SESSION time_zone = '+13:00'",
    "SET SESSION time_zone = '-11:00'",
    "SET SESSION sql_safe_updates = 1",
    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    "SET NAMES latin1",
    "SET SESSION collation_connection = utf8mb4_turkish_ci",
  ])("a session with %s does", async (setting, { world }) => {
    const pool = createPool({ uri: world.place, connectionLimit: 1 });
    world.onEnd(() => pool.end());
    await pool.query(setting);
    await roundTrip(world, pool);
  });

  describe("a session with autocommit off", () => {
    /** Returns a pool of one connection with autocommit off. */
    async function uncommitting(world: SqlWorld): Promise<ReturnType<typeof createPool>> {
      const pool = createPool({ uri: world.place, connectionLimit: 1 });
      world.onEnd(() => pool.end());
      await pool.query("SET SESSION autocommit = 0");
      return pool;
    }

    test("commits what the store writes, and keeps its setting", async ({ world }) => {
      const pool = await uncommitting(world);
      await roundTrip(world, pool);
      await world.store(pool).migrate();
      const [rows] = await pool.query("SELECT @@autocommit AS autocommit, @@in_transaction AS busy");
      expect(rows).toEqual([{ autocommit: 0, busy: 0 }]);
    });

    test("reads what other sessions wrote since a transaction began on it", async ({ world }) => {
      const pool = await uncommitting(world);
      await pool.query("SELECT * FROM leasehold_leases");
      const lease = await world.win(world.store());

      await expect(world.store(pool).read(world.election)).resolves.toMatchObject({ term: lease.term, holder: "a" });
    });

    test("does not commit what was left on it", async ({ world }) => {
      await world.run("CREATE TABLE left_over (a INT) ENGINE = InnoDB");
      const pool = await uncommitting(world);
      await pool.query("INSERT INTO left_over VALUES (1)");
      await world.win(world.store(pool));

      await expect(world.run("SELECT * FROM left_over")).resolves.toEqual([]);
    });

    test("leaves no lock behind after a write that lost", async ({ world }) => {
      const pool = await uncommitting(world);
      const store = world.store(pool);
      await world.win(store);
      const rows = world.rows(pool);
      const put = { ifVersion: "another", keepsNonce: false, fence: { term: 2, termId: "t" }, signal };
      await expect(rows.put(world.election, recordOf({ term: 2 }), put)).resolves.toEqual({ stored: false });
      await world.run("SELECT * FROM leasehold_leases WHERE election = ? FOR UPDATE NOWAIT", [world.name()]);
    });

    test("locks nothing for the proof that it may write, even if its process freezes in between", async ({ world }) => {
      await world.win(world.store());
      const pool = await uncommitting(world);
      let statements = 0;
      const watched = {
        end: () => pool.end(),
        getConnection: async () => {
          const connection = await pool.getConnection();
          const query = async (options: never): Promise<unknown> => {
            const result: unknown = await connection.query(options);
            await world.run("SELECT * FROM leasehold_leases WHERE election = ? FOR UPDATE NOWAIT", [world.name()]);
            statements += 1;
            return result;
          };
          return new Proxy(connection, { get: (of, name): unknown => (name === "query" ? query : Reflect.get(of, name, of)) });
        },
      };
      await world.store(watched).check({ election: world.election });
      expect(statements).toBeGreaterThan(3);
    });

    test("does not end run, in a pool with other connections", async ({ world }) => {
      const pool = createPool({ uri: world.place, connectionLimit: 2 });
      world.onEnd(() => pool.end());
      const both = [await pool.getConnection(), await pool.getConnection()];
      await both[0]?.query("SET SESSION autocommit = 0");
      for (const one of both) one.release();
      const elector = new Elector({ store: world.store(pool), election: world.election, renewIntervalMs: 100 });
      const stop = new AbortController();
      await elector.run(
        async ({ signal: leading }) => {
          const told = (await world.leaseRow())?.["nonce"];
          await expect.poll(async () => (await world.leaseRow())?.["nonce"]).not.toBe(told);
          expect(leading.aborted).toBe(false);
          stop.abort();
        },
        { signal: stop.signal },
      );
      await expect(world.store().read(world.election)).resolves.toMatchObject({ state: "vacant", term: 1 });
    });
  });
});

await describeDatabases(["postgres"], (test) => {
  const { INT8, FLOAT8, BYTEA, TEXT, TIMESTAMPTZ, INT4 } = pgTypes.builtins;
  const PARSERS: Readonly<Record<string, readonly [oid: number, parse: (text: string) => unknown]>> = {
    "int8 as a number": [INT8, Number],
    "int8 as a bigint": [INT8, BigInt],
    "int4 as a bigint": [INT4, BigInt],
    "int8 as an object": [INT8, (text) => ({ text })],
    "float8 as text": [FLOAT8, String],
    "float8 as an object": [FLOAT8, (text) => ({ text })],
    "bytea as text": [BYTEA, String],
    "text as an object": [TEXT, (text) => ({ text })],
    "times as text": [TIMESTAMPTZ, String],
  };

  test.for(Object.entries(PARSERS))("a pool that reads %s does", async ([, [oid, parse]], { world }) => {
    const types = {
      getTypeParser: (id: number, format?: "text" | "binary") =>
        id === oid ? parse : (pgTypes.getTypeParser as (id: number, format?: string) => (text: string) => unknown)(id, format),
    } as CustomTypesConfig;
    const pool = new Pool({ connectionString: world.place, types });
    world.onEnd(() => pool.end());
    await roundTrip(world, pool);
  });

  test.for([
    "-c timezone=Pacific/Auckland",
    "-c timezone=-11",
    "-c bytea_output=escape",
    "-c datestyle=German",
    "-c intervalstyle=sql_standard",
    "-c extra_float_digits=-10",
    "-c standard_conforming_strings=off",
    "-c default_transaction_isolation=serializable",
    "-c default_transaction_isolation=repeatable\\ read",
    "-c enable_seqscan=off -c plan_cache_mode=force_generic_plan",
  ])("a session with %s does", async (options, { world }) => {
    const pool = new Pool({ connectionString: world.place, options });
    world.onEnd(() => pool.end());
    await roundTrip(world, pool);
  });
});

await describeDatabases(SERVERS, (test, kind) => {
  test("a session that was left in a transaction never makes a leader", async ({ world }) => {
    const pool: { query(sql: string): Promise<unknown>; end(): Promise<void> } =
      kind === "mysql"
        ? createPool({ uri: world.place, connectionLimit: 1 })
        : new Pool({ connectionString: world.place, max: 1 });
    world.onEnd(() => pool.end());
    await pool.query("BEGIN");
    const rows = world.rows(pool);
    const error = await failureOf(
      rows.put(world.election, recordOf(), { ifVersion: undefined, keepsNonce: false, fence: { term: 1, termId: "t" }, signal }),
    );
    expect(error).toMatchObject({ code: "STORE_REJECTED", operation: "put", mayHaveBeenApplied: false });
    // A read there does not show the old state at the beginning of that transaction either.
    await pool.query("BEGIN");
    if (kind === "postgres") await pool.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    await pool.query("SELECT * FROM leasehold_leases");
    const lease = await world.win(world.store());
    await expect(rows.get(world.election, { signal, consistent: true })).rejects.toMatchObject({
      code: "STORE_REJECTED",
      operation: "get",
      mayHaveBeenApplied: false,
    });
    await expect(world.rows(pool).get(world.election, { signal, consistent: true })).resolves.toMatchObject({
      data: { termId: lease.termId },
    });
    await world.store().break(world.election, { reason: "r", immediate: true });
    // It leaves no lock behind.
    await expect(world.win(world.store())).resolves.toMatchObject({ term: lease.term + 1 });
    await roundTrip(world, world.place);
  });

  if (kind === "mysql") return;

  test("a pg before 8.21, which does not show whether a write was committed, is listened to", async ({ world }) => {
    class Older extends Client {
      declare getTransactionStatus: () => never;
    }
    Object.defineProperty(Older.prototype, "getTransactionStatus", { value: undefined });
    const pool = new Pool({ connectionString: world.place, max: 1, Client: Older } as PoolConfig);
    world.onEnd(() => pool.end());
    await roundTrip(world, pool);
    await pool.query("BEGIN");
    const row = { ifVersion: undefined, keepsNonce: false, fence: { term: 1, termId: "t" }, signal };
    await expect(failureOf(world.rows(pool).put(`${world.election}-2`, recordOf(), row))).resolves.toMatchObject({
      code: "STORE_REJECTED",
    });
  });

  test("a client that does not tell whether a write was committed is refused by its name", async ({ world }) => {
    // Like pg-native's client: it has the method, and returns null.
    class Mute extends Client {
      override getTransactionStatus(): null {
        return null;
      }
    }
    const pool = new Pool({ connectionString: world.place, max: 1, Client: Mute } as PoolConfig);
    world.onEnd(() => pool.end());
    const error = await failureOf(
      world.rows(pool).put(world.election, recordOf(), { ifVersion: undefined, keepsNonce: false, signal }),
    );
    expect(error).toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("pg-native") });
  });
});
