/** The statements that the server gets for its answers, and those that it no longer gets. */
import { EventEmitter } from "node:events";
import { systemClock } from "@leasehold/core/provider";
import { describe, expect, test } from "vitest";
import { failureOf } from "@leasehold/test-kit/failure";
import { MySqlDatabase } from "../src/mysql/mysql-database.ts";
import { PostgresDatabase } from "../src/postgres/postgres-database.ts";
import type { SqlDatabase } from "../src/sql-database.ts";
import { recordOf } from "./sql-world.ts";

/**
 * Returns the server's answer to a statement: rows, or the number of changed rows. Throws if the server refuses the statement.
 */
type Answer = (sql: string) => {
  readonly rows?: readonly object[];
  readonly changed?: number;
  readonly notice?: object;
  readonly serverStatus?: number;
};

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
      const { rows, changed = 0, serverStatus = 2 } = answer(sql);
      return [rows ?? (sql.startsWith("SELECT") ? [] : { affectedRows: changed, serverStatus })];
    },
    release: () => void given.push("back"),
    destroy: () => void given.push("up"),
    // The connection with callbacks, on which the other one is built.
    connection: {
      query: ({ sql }: { readonly sql: string }) => {
        sent.push(sql);
        const query = new EventEmitter();
        queueMicrotask(() => answer(sql).rows?.forEach((row) => query.emit("result", row)));
        return query;
      },
      destroy: () => void given.push("up"),
    },
  };
  return { pool: { getConnection: async () => connection, end: async () => undefined }, connection, sent, given };
}

function postgresServer(answer: Answer): Server {
  const { sent, given } = { sent: [] as string[], given: [] as string[] };
  const listeners = new Set<(notice: object) => void>();
  const connection = {
    query: async ({ text }: { readonly text: string }) => {
      sent.push(text);
      const { rows = [], changed = 0, notice } = answer(text);
      if (notice) for (const listener of listeners) listener(notice);
      return { rows, rowCount: changed };
    },
    getTransactionStatus: () => "I",
    release: (destroy?: boolean) => void given.push(destroy ? "up" : "back"),
    on: (event: string, listener: (notice: object) => void) => event === "notice" && listeners.add(listener),
    off: (_: string, listener: (notice: object) => void) => listeners.delete(listener),
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
    // The statement that makes the rows was under way.
    expect(sent.length).toBeGreaterThan(0);
    expect(sent.filter((sql) => /\bUPDATE\b/.test(sql))).toEqual([]);
  });

  test("a write that lost waits until the fence's row is made again, and reports a failure of that", async () => {
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

  test("a fence whose check for a transaction fails for another reason throws the driver's error", async () => {
    for (const failing of kind === "mysql" ? [/^SAVEPOINT/, /^RELEASE/] : [/^SAVEPOINT/]) {
      const { pool, connection } = serverOf((sql) => {
        if (failing.test(sql)) throw Object.assign(new Error("gone"), { code: "08006", errno: 2013 });
        return { rows: [{ term: 1, term_id: "t" }] };
      });
      await expect(open(pool).fence(LED, connection)).rejects.toMatchObject({ message: "gone", code: "08006" });
    }
  });

  test("a migration gives its connection back after success only", async () => {
    for (const fails of [false, true]) {
      const { pool, given } = serverOf(() => {
        if (fails) throw new Error("no");
        return {};
      });
      const outcome = await open(pool)
        .migrate()
        .catch(() => "failed");
      expect(outcome).toBe(fails ? "failed" : undefined);
      expect(given).toEqual([fails ? "up" : "back"]);
    }
  });
});

test("mysql: a guarded transaction whose connection breaks at once sends nothing more", async () => {
  const { pool, sent, given } = mysqlServer(() => {
    throw new Error("gone");
  });
  await expect(KINDS["mysql"]!.open(pool).transaction(() => Promise.resolve())).rejects.toThrow("gone");
  expect(sent).toEqual(["ROLLBACK"]);
  expect(given).toEqual(["up"]);
});

describe("mysql: a read on a connection that was left in a transaction", () => {
  const read = async (rows: readonly object[], serverStatus: number): Promise<unknown> => {
    const { pool } = mysqlServer((sql) => (sql === "DO 0" ? { serverStatus } : { rows }));
    const reading = new MySqlDatabase(pool, systemClock).get("e", { signal: new AbortController().signal, consistent: true });
    return await reading.catch((error: unknown) => error);
  };

  test("is refused on MariaDB, which shows it beside the row", async () => {
    const error = await read([{ autocommit: 1, in_transaction: 1 }], 2);
    expect(error).toMatchObject({ code: "STORE_REJECTED", operation: "get", mayHaveBeenApplied: false });
  });

  test("is refused on MySQL, which shows it in another statement", async () => {
    await expect(read([{ autocommit: 1 }], 3)).resolves.toMatchObject({ code: "STORE_REJECTED" });
    await expect(read([{ autocommit: 1 }], 2)).resolves.toBeUndefined();
  });
});

const WARNING = { severity: "WARNING", code: "01000", message: "canceling wait for synchronous replication" };

describe("postgres: a write that is acknowledged with a warning", () => {
  const put = { ifVersion: "v", keepsNonce: false, signal: new AbortController().signal };

  test.for([
    ["", WARNING],
    [" in the server's language", { ...WARNING, severity: "WARNUNG" }],
    [" of a server that shuts down", { ...WARNING, code: "57P01" }],
  ] as const)("has an unknown outcome, and its connection is closed%s", async ([, notice]) => {
    const { pool, given } = postgresServer((sql) => (sql.includes("UPDATE") ? { changed: 1, notice } : { rows: [] }));
    const error = await failureOf(new PostgresDatabase(pool, systemClock).put("e", recordOf(), put));
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", operation: "put", mayHaveBeenApplied: true });
    expect(error.message).toContain("acknowledged with a warning, so that a failover may lose it: canceling wait for");
    expect(given).toEqual(["up"]);
  });

  test.for([
    ["a notice", { severity: "NOTICE", code: "00000", message: "m" }],
    ["a warning that transaction numbers run short", { ...WARNING, routine: "GetNewTransactionId" }],
  ] as const)("%s is no such warning", async ([, notice]) => {
    const { pool, given } = postgresServer(() => ({ changed: 1, notice }));
    const database = new PostgresDatabase(pool, systemClock);
    for (let writes = 0; writes < 2; writes += 1)
      await expect(database.put("e", recordOf(), put)).resolves.toMatchObject({ stored: true });
    expect(given).toEqual(["back", "back"]);
  });
});

test.for(["23505", "42P07", "42710"])(
  "postgres: a table that another process makes meanwhile (%s) counts as made",
  async (code) => {
    const { pool, sent } = postgresServer((sql) => {
      if (sql.startsWith("CREATE")) throw Object.assign(new Error("It exists."), { code, severity: "ERROR" });
      return {};
    });
    const database = new PostgresDatabase(pool, systemClock);
    await database.migrate();
    // The columns are checked then too.
    expect(sent.slice(-4, -1).every((sql) => sql.startsWith("SELECT election"))).toBe(true);
  },
);

test("postgres: a table that cannot be made is an error", async () => {
  const { pool } = postgresServer((sql) => {
    if (sql.startsWith("CREATE")) throw Object.assign(new Error("The disk is full."), { code: "53100", severity: "ERROR" });
    return {};
  });
  expect(await failureOf(new PostgresDatabase(pool, systemClock).migrate())).toMatchObject({ code: "STORE_THROTTLED" });
});

test("postgres: a release and an administrator's write that leave the fence unchanged notify; a publication does not", async () => {
  const { pool, sent } = postgresServer(() => ({ changed: 1 }));
  const database = new PostgresDatabase(pool, systemClock);
  const put = { ifVersion: "v", keepsNonce: false, signal: new AbortController().signal };
  const notifies = [];
  for (const [record, options] of [
    [recordOf({ value: "published" }), put],
    [recordOf({ termId: null }), put],
    [recordOf(), { ...put, keepsNonce: true }],
  ] as const) {
    await expect(database.put("e", record, options)).resolves.toMatchObject({ stored: true });
    notifies.push(sent.at(-1)?.includes("pg_notify"));
  }
  expect(notifies).toEqual([false, true, true]);
});
