/** The pool that a store opens for a URL, as the driver sees it. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { SqlLeaseStore, type SqlLeaseStoreOptions } from "@leasehold/sql";
import { MySqlConnections } from "../src/mysql/mysql-pool.ts";
import { PostgresConnections } from "../src/postgres/postgres-pool.ts";
import { failureOf } from "@leasehold/test-kit/failure";

interface Driver {
  /** The options that each pool was opened with. */
  readonly opened: object[];
  readonly ends: { count: number; readonly answer: PromiseWithResolvers<void> };
  /** The calls that wait for a connection. */
  readonly waiting: Array<PromiseWithResolvers<unknown>>;
}

/** Replaces both drivers. */
function driver(): Driver {
  const it: Driver = { opened: [], ends: { count: 0, answer: Promise.withResolvers() }, waiting: [] };
  const wait = async (): Promise<unknown> => {
    const connecting = Promise.withResolvers<unknown>();
    it.waiting.push(connecting);
    return await connecting.promise;
  };
  const pool = {
    getConnection: wait,
    connect: wait,
    on: () => undefined,
    end: async () => {
      it.ends.count += 1;
      await it.ends.answer.promise;
    },
  };
  const open = (options: object): typeof pool => {
    it.opened.push(options);
    return pool;
  };
  vi.doMock("mysql2/promise", () => ({ createPool: open }));
  vi.doMock("pg", () => ({
    default: {
      Pool: function Pool(options: object) {
        return open(options);
      },
    },
  }));
  return it;
}

afterEach(() => {
  vi.doUnmock("mysql2/promise");
  vi.doUnmock("pg");
});

const KINDS = {
  mysql: {
    connections: () => new MySqlConnections("mysql://u@h/d"),
    options: { uri: "mysql://u@h/d", connectionLimit: 4, connectTimeout: 5_000 },
  },
  postgres: {
    connections: () => new PostgresConnections("postgres://u@h/d"),
    options: {
      connectionString: "postgres://u@h/d",
      max: 5,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      application_name: "leasehold",
    },
  },
} as const;

describe.for(Object.entries(KINDS))("%s", ([kind, { connections: open, options }]) => {
  test("is one pool for all calls, with a limited size and a limited time to connect", async () => {
    const { opened, waiting } = driver();
    const connections = open();
    for (let call = 0; call < 3; call += 1) void connections.get().catch(() => undefined);
    await expect.poll(() => waiting.length).toBe(3);
    expect(opened).toEqual([options]);
  });

  test("is ended once, before the store is closed", async () => {
    const { ends, waiting } = driver();
    const url = kind === "mysql" ? "mysql://u@h/d" : "postgres://u@h/d";
    const store = new SqlLeaseStore({ [kind]: url } as unknown as SqlLeaseStoreOptions);
    const reading = failureOf(store.read("e"));
    await expect.poll(() => waiting.length).toBe(1);
    let closed = 0;
    const closing = [store.close(), store[Symbol.asyncDispose]()].map(async (one) => {
      await one;
      closed += 1;
    });
    await expect.poll(() => ends.count).toBe(1);
    // Lets all pending callbacks run.
    await new Promise((resolve) => void setImmediate(resolve));
    expect(closed).toBe(0);

    ends.answer.resolve();
    // The driver rejects the waiting calls like this.
    waiting[0]?.reject(new Error("Pool is closed."));
    await Promise.all(closing);
    expect(ends.count).toBe(1);
    await expect(reading).resolves.toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("was closed") });
  });

  test("gives no connection to a call that was about to use it when the store was closed", async () => {
    const { ends, waiting } = driver();
    ends.answer.resolve();
    const connections = open();
    const call = failureOf(connections.get());
    await connections.close();
    await expect(call).resolves.toMatchObject({ code: "CONFIGURATION" });
    expect(waiting).toEqual([]);
  });
});
