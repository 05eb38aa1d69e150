/** What the server is sent, and what is no longer sent, by what it answers. */
import { systemClock } from "@leasehold/core";
import { describe, expect, test } from "vitest";
import { failureOf } from "@leasehold/test-kit/failure";
import { MySqlDatabase } from "../src/mysql/mysql-database.ts";
import { PostgresDatabase } from "../src/postgres/postgres-database.ts";
import type { SqlDatabase } from "../src/sql-database.ts";
import { recordOf } from "./sql-world.ts";

/** What the server says to a statement: rows, or how many were changed; throws where it refuses. */
type Answer = (sql: string) => { readonly rows?: readonly object[]; readonly changed?: number };

/** A pool of one connection to such a server. */
interface Server {
  readonly pool: object;
  readonly connection: object;
  readonly sent: string[];
  readonly given: string[];
}

function mysqlServer(answer: Answer): Server {
  const { sent, given } = { sent: [] as string[], given: [] as string[] };
  const connection = {
    threadId: 1,
    query: async ({ sql }: { readonly sql: string }) => {
      sent.push(sql);
      const { rows, changed = 0 } = answer(sql);
      return [rows ?? { affectedRows: changed, serverStatus: 2 }];
    },
    release: () => void given.push("back"),
    destroy: () => void given.push("up"),
  };
  return { pool: { getConnection: async () => connection, end: async () => undefined }, connection, sent, given };
}

function postgresServer(answer: Answer): Server {
  const { sent, given } = { sent: [] as string[], given: [] as string[] };
  const connection = {
    query: async ({ text }: { readonly text: string }) => {
      sent.push(text);
      const { rows = [], changed = 0 } = answer(text);
      return { rows, rowCount: changed };
    },
    getTransactionStatus: () => "I",
    release: (destroy?: boolean) => void given.push(destroy ? "up" : "back"),
    on: () => undefined,
    off: () => undefined,
  };
  return { pool: { connect: async () => connection, end: async () => undefined }, connection, sent, given };
}

interface Kind {
  readonly serverOf: (answer: Answer) => Server;
  readonly open: (pool: object) => SqlDatabase;
}

const KINDS: Readonly<Record<string, Kind>> = {
  mysql: { serverOf: mysqlServer, open: (pool) => new MySqlDatabase(pool, systemClock) },
  postgres: { serverOf: postgresServer, open: (pool) => new PostgresDatabase(pool, systemClock) },
};

const LED = { election: "e", term: 1, termId: "t" };
const FENCE = { term: 2, termId: "u" };

describe.for(Object.entries(KINDS))("%s", ([kind, { serverOf, open }]) => {
  test("the first write is not sent once its call was given up", async () => {
    const abort = new AbortController();
    const { pool, sent } = serverOf(() => {
      abort.abort(new Error("given up"));
      return {};
    });
    const put = open(pool).put("e", recordOf(), { ifVersion: undefined, keepsNonce: false, signal: abort.signal });
    await expect(put).rejects.toThrow("given up");
    await new Promise((resolve) => void setImmediate(resolve));
    // What makes the rows was under way.
    expect(sent.length).toBeGreaterThan(0);
    expect(sent.filter((sql) => /^(UPDATE|WITH (updated|gate))/.test(sql))).toEqual([]);
  });

  test("a write that lost waits until the fence's row is made again, and says where that failed", async () => {
    const found = { version: "v", fence_term: null };
    const server = (refuses: boolean): Server =>
      serverOf((sql) => {
        if (/^INSERT.* INTO leasehold_fences/.test(sql) && refuses) throw new Error("The disk is full.");
        return sql.startsWith("SELECT l.version") ? { rows: [found] } : {};
      });
    const options = { ifVersion: "v", keepsNonce: false, fence: FENCE, signal: new AbortController().signal };
    const { pool, sent } = server(false);
    await expect(open(pool).put("e", recordOf({ term: 2 }), options)).resolves.toEqual({ stored: false });
    expect(sent.at(-1)).toMatch(/^INSERT.* INTO leasehold_fences/);
    await expect(open(server(true).pool).put("e", recordOf({ term: 2 }), options)).rejects.toThrow("The disk is full.");
  });

  test("a fence whose check for a transaction fails otherwise passes that on, as the driver says it", async () => {
    for (const failing of kind === "mysql" ? [/^SAVEPOINT/, /^RELEASE/] : [/^SAVEPOINT/]) {
      const { pool, connection } = serverOf((sql) => {
        if (failing.test(sql)) throw Object.assign(new Error("gone"), { code: "08006", errno: 2013 });
        return { rows: [{ term: 1, term_id: "t" }] };
      });
      await expect(open(pool).fence(LED, connection)).rejects.toMatchObject({ message: "gone", code: "08006" });
    }
  });

  test("a migration gives its connection back, whether it went well or not", async () => {
    for (const fails of [false, true]) {
      const { pool, given } = serverOf(() => {
        if (fails) throw new Error("no");
        return {};
      });
      const outcome = await open(pool)
        .migrate()
        .catch(() => "failed");
      expect(outcome).toBe(fails ? "failed" : undefined);
      expect(given).toEqual(["back"]);
    }
  });
});

test.for(["23505", "42P07", "42710"])("postgres: a table that somebody makes meanwhile (%s) is there", async (code) => {
  const { pool, sent } = postgresServer((sql) => {
    if (sql.startsWith("CREATE")) throw Object.assign(new Error("It exists."), { code, severity: "ERROR" });
    return {};
  });
  const database = new PostgresDatabase(pool, systemClock);
  await database.migrate();
  // And whether it has the columns is asked.
  expect(sent.slice(-3).every((sql) => sql.startsWith("SELECT election"))).toBe(true);
});

test("postgres: a table that cannot be made is an error", async () => {
  const { pool } = postgresServer((sql) => {
    if (sql.startsWith("CREATE")) throw Object.assign(new Error("The disk is full."), { code: "53100", severity: "ERROR" });
    return {};
  });
  expect(await failureOf(new PostgresDatabase(pool, systemClock).migrate())).toMatchObject({ code: "STORE_THROTTLED" });
});

test("postgres: a renewal notifies where its value is another one, and a release that leaves the fence as it is always", async () => {
  const { pool, sent } = postgresServer(() => ({ changed: 1 }));
  const database = new PostgresDatabase(pool, systemClock);
  const put = { ifVersion: "v", keepsNonce: false, signal: new AbortController().signal };
  const texts = [];
  for (const [record, options] of [
    [recordOf(), put],
    [recordOf({ termId: null }), put],
    [recordOf(), { ...put, keepsNonce: true }],
  ] as const) {
    await expect(database.put("e", record, options)).resolves.toMatchObject({ stored: true });
    texts.push(sent.at(-1));
  }
  for (const text of texts) expect(text).toContain("pg_notify");
  expect(texts.map((text) => text?.includes("value_before IS DISTINCT FROM value"))).toEqual([true, false, false]);
});

test("postgres: what takes an open election on a connection that is left in a transaction is an error, whatever was found", async () => {
  for (const rows of [[{ taken_term: "2", taken_version: "v" }], []]) {
    const { pool, connection } = postgresServer(() => ({ rows }));
    Object.assign(connection, { getTransactionStatus: () => "T" });
    const taking = new PostgresDatabase(pool, systemClock).putIfOpen("e", recordOf(), {
      mayCreate: true,
      signal: new AbortController().signal,
    });
    await expect(taking).rejects.toMatchObject({ code: "STORE_REJECTED", operation: "put", mayHaveBeenApplied: false });
  }
});
