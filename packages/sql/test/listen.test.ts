/** The option `listen` of PostgreSQL. */
import { SqlLeaseStore, type SqlLeaseStoreOptions } from "@leasehold/sql";
import { createPool } from "mysql2";
import { Pool } from "pg";
import { expect, test as plainTest } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { describeDatabases } from "./sql-world.ts";

await describeDatabases(["postgres"], (test) => {
  test.for(["URL", "handle"])("a store that listens by a second %s is notified, as its pool cannot be", async (by, { world }) => {
    const [pool, second] = [1, 1].map((max) => new Pool({ connectionString: world.place, max, connectionTimeoutMillis: 5_000 }));
    for (const one of [pool!, second!]) world.onEnd(() => one.end());
    const store = new SqlLeaseStore({ postgres: pool!, listen: by === "URL" ? world.place : second! });
    world.onEnd(() => store.close());
    expect(store.capabilities).toMatchObject({ watch: "push" });
    const lease = await world.win(store);
    const stop = new AbortController();
    const watch = store.watch!(world.election, { signal: stop.signal })[Symbol.asyncIterator]();
    await watch.next();
    const changed = watch.next();
    await store.release(lease, LIMITS);
    await expect(changed).resolves.toEqual({ done: false, value: undefined });
    stop.abort();
    await expect(store.check({ election: world.election })).resolves.toMatchObject({ warnings: [] });
  });

  test("a store with listen: false polls, and warns of nothing", async ({ world }) => {
    const store = new SqlLeaseStore({ postgres: world.place, listen: false });
    world.onEnd(() => store.close());
    expect(store.watch).toBeUndefined();
    expect(store.capabilities).toMatchObject({ watch: "poll" });
    await expect(store.check({ election: world.election })).resolves.toMatchObject({ warnings: [] });
  });
});

plainTest.for<[options: object, message: RegExp]>([
  [{ postgres: "postgres://u@h/d", listen: true }, /^listen must be a URL such as/],
  [{ postgres: "postgres://u@h/d", listen: "mysql://u:hush@h/d" }, /^listen must be a URL such as(?!.*hush)/],
  [
    { postgres: "postgres://u@h/d", listen: "postgres://u:50%@h/d" },
    /^listen is a URL that cannot be read\. It looks like postgres:/,
  ],
  [{ mysql: "mysql://u@h/d", listen: false }, /^listen goes with postgres only/],
])("%o is refused at construction", ([options, message]) => {
  expect(() => new SqlLeaseStore(options as SqlLeaseStoreOptions)).toThrow(message);
});

plainTest("a pool of mysql2 given as postgres is named", () => {
  const pool = createPool("mysql://u@127.0.0.1:1/d");
  expect(() => new SqlLeaseStore({ postgres: pool as never })).toThrow(/a pool of MySQL or MariaDB: use the option mysql/);
  pool.end(() => undefined);
});
