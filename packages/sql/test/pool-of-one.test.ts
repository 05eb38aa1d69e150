import { once } from "node:events";
import { Elector } from "@leasehold/core";
import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import { expect } from "vitest";
import { describeDatabases, SERVERS, type SqlWorld } from "./sql-world.ts";

/** Returns a pool with one connection, which the process uses for everything. */
function poolOfOne(world: SqlWorld): unknown {
  const pool =
    world.kind === "mysql"
      ? createPool({ uri: world.place, connectionLimit: 1 })
      : new Pool({ connectionString: world.place, max: 1, connectionTimeoutMillis: 5_000 });
  world.onEnd(() => pool.end());
  return pool;
}

interface Lent {
  release(): void;
}

/** Campaigns until it is stopped; `leads` resolves once it leads. */
function campaigning(world: SqlWorld, candidateId: string) {
  const elector = new Elector({
    store: world.store(poolOfOne(world)),
    election: world.election,
    candidateId,
    retryPeriodMs: 100,
  });
  const stop = new AbortController();
  const leads = Promise.withResolvers<void>();
  const run = elector.run(
    async ({ signal }) => {
      leads.resolve();
      if (!signal.aborted) await once(signal, "abort");
    },
    { signal: stop.signal },
  );
  const end = async (): Promise<void> => {
    stop.abort();
    await run;
  };
  world.onEnd(end);
  return { leads: Promise.race([leads.promise, run]), end };
}

await describeDatabases(SERVERS, (test, kind) => {
  test("a process with one connection leads, stands by, and takes over", async ({ world }) => {
    const leader = campaigning(world, "a");
    await leader.leads;
    const standby = campaigning(world, "b");
    await leader.end();
    await standby.leads;
    await expect(world.store().read(world.election, { expiry: "store-clock" })).resolves.toMatchObject({
      state: "held",
      term: 2,
      holder: "b",
    });
  });

  test("a request that gets no connection of the pool says so", async ({ world }) => {
    const pool = poolOfOne(world) as { connect?: () => Promise<Lent>; getConnection?: () => Promise<Lent> };
    const lent = await (pool.connect ?? pool.getConnection)!.call(pool);
    world.onEnd(async () => lent.release());
    await expect(world.store(pool).read(world.election, { timeoutMs: 300 })).rejects.toMatchObject({
      code: "STORE_TIMEOUT",
      message: expect.stringMatching(/ms\. It got no connection: those of the pool were in use, or the server let none in\.$/),
    });
  });

  if (kind === "postgres")
    test("it polls, and its capabilities and a warning say so", async ({ world }) => {
      const store = world.store(poolOfOne(world));
      expect(store.watch).toBeUndefined();
      expect(store.capabilities).toMatchObject({ watch: "poll" });
      expect(store.capabilities).not.toHaveProperty("pushes");
      const { warnings } = await store.check({ election: world.election });
      expect(warnings).toEqual([expect.stringMatching(/single connection.*retryPeriodMs.*max of 3/)]);

      const silent = world.store(poolOfOne(world));
      let warned = 0;
      const count = (): void => void (warned += 1);
      process.on("warning", count);
      await new Elector({ store: silent, election: world.election, logger: false }).tryRun(() => undefined);
      await new Promise((resolve) => void setImmediate(resolve));
      process.off("warning", count);
      expect(warned).toBe(0);

      const two = new Pool({ connectionString: world.place, max: 2 });
      world.onEnd(() => two.end());
      for (const place of [world.place, two]) expect(world.store(place).capabilities).toMatchObject({ watch: "push" });
    });

  if (kind === "postgres")
    test("check() warns of a pool that waits for a connection for ever", async ({ world }) => {
      const warningsOf = async (options: object): Promise<unknown> => {
        const pool = new Pool({ connectionString: world.place, max: 2, ...options });
        world.onEnd(() => pool.end());
        return (await world.store(pool).check({ election: world.election })).warnings;
      };
      const said = expect.stringMatching(/no connectionTimeoutMillis.*Give the pool connectionTimeoutMillis: 5000\.$/) as string;
      for (const options of [{}, { connectionTimeoutMillis: 0 }]) await expect(warningsOf(options)).resolves.toEqual([said]);
      await expect(warningsOf({ connectionTimeoutMillis: 1_000 })).resolves.toEqual([]);
    });
});
