import { Elector } from "@leasehold/core";
import { Pool } from "pg";
import { expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { describeDatabases, type SqlWorld } from "./sql-world.ts";

/** Starts a watch, and records its wake-ups. */
function watching(world: SqlWorld, store = world.store(), election = world.election) {
  const stop = new AbortController();
  const told: unknown[] = [];
  const ended = (async () => {
    for await (const wakeUp of store.watch?.(election, { signal: stop.signal }) ?? []) told.push(wakeUp);
  })().catch((error: unknown) => error);
  world.onEnd(async () => {
    stop.abort();
    await ended;
  });
  return { told, stop, ended };
}

async function listeners(world: SqlWorld): Promise<readonly unknown[]> {
  const rows = await world.run("SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND pid <> pg_backend_pid()");
  return rows.map(({ pid }) => pid);
}

await describeDatabases(["postgres"], (test) => {
  test("capabilities.watch says that it pushes", ({ world }) => {
    expect(world.store().capabilities).toMatchObject({ watch: "push" });
  });

  test("each acquisition, release, transfer and break wakes, and neither renewals nor publications do", async ({ world }) => {
    const { told } = watching(world);
    let wakeUps = 0;
    const woken = async (): Promise<void> => {
      wakeUps += 1;
      await expect.poll(() => told.length).toBe(wakeUps);
    };
    await woken();
    const store = world.store();
    const lease = await world.win(store);
    await woken();
    for (let writes = 0; writes < 5; writes += 1) {
      await store.renew(lease, LIMITS);
      await store.publish(lease, `value ${writes}`, LIMITS);
    }
    const admin = world.store();
    const abort = new AbortController();
    world.onEnd(async () => abort.abort());
    const transferring = failureOf(admin.transfer(world.election, "b", { signal: abort.signal }));
    await woken();
    abort.abort();
    await transferring;
    await store.release(lease, LIMITS);
    await woken();
    const next = await world.win(store, { candidateId: "b" });
    await woken();
    await admin.break(world.election, { reason: "why" });
    await woken();
    await store.release(next, LIMITS);
    await woken();
    await world.win(world.store(), { candidateId: "c" });
    await woken();
    await admin.break(world.election, { reason: "why", immediate: true });
    await woken();
  });

  test("a watch whose connection is ended fails with an error that says so", async ({ world }) => {
    const { told, ended } = watching(world);
    await expect.poll(() => told.length).toBe(1);
    for (const pid of await listeners(world)) await world.run("SELECT pg_terminate_backend(?::int)", [pid]);
    await expect(ended).resolves.toMatchObject({
      code: "STORE_UNAVAILABLE",
      operation: "watch",
      election: world.election,
      mayHaveBeenApplied: false,
    });
  });

  test("a watch fails also if a notification came just before and was not read yet", async ({ world }) => {
    const store = world.store();
    const stop = new AbortController();
    const watch = store.watch?.(world.election, { signal: stop.signal })[Symbol.asyncIterator]();
    await watch?.next();
    const [pid] = await listeners(world);
    await world.win(world.store());
    // A second listener has got the notification by now.
    await world.run("SELECT pg_terminate_backend(?::int)", [pid]);
    await expect.poll(() => listeners(world)).toEqual([]);
    const failure = (async () => {
      for (;;) await watch?.next();
    })();
    const timeout = setTimeout(() => stop.abort(), 60_000);
    await expect(failure).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    clearTimeout(timeout);
  });

  test("a server that refuses to listen keeps no connection", async ({ world }) => {
    const pool = new Pool({ connectionString: world.place, max: 3 });
    world.onEnd(() => pool.end());
    pool.on("connect", (client) => {
      const query = client.query.bind(client) as (statement: { readonly text: string }, ...rest: unknown[]) => unknown;
      // Only LISTEN is refused, as it can happen to a standby whose other statements succeed.
      const refusing = (statement: { readonly text: string }, ...rest: unknown[]): unknown =>
        query(statement.text.startsWith("LISTEN") ? { ...statement, text: "SELECT 1 / 0" } : statement, ...rest);
      Object.assign(client, { query: refusing });
    });
    const store = world.store(pool);
    for (let tries = 0; tries < 6; tries += 1) {
      const { ended } = watching(world, store);
      await expect(ended).resolves.toMatchObject({ operation: "watch" });
    }
    await expect(store.read(world.election, { timeoutMs: 3_000 })).resolves.toBeUndefined();
    expect(pool.idleCount).toBe(pool.totalCount);
  });

  test("a connection that ends after the last watch causes no error", async ({ world }) => {
    const { proxy, url } = await world.network();
    for (let round = 0; round < 5; round += 1) {
      const store = world.store(url);
      const { told, stop, ended } = watching(world, store);
      await expect.poll(() => told.length).toBe(1);
      stop.abort();
      proxy.cut();
      await ended;
      proxy.heal();
    }
    await expect.poll(() => listeners(world)).toEqual([]);
  });

  test("a standby that is notified of a release takes over long before its next poll", async ({ world }) => {
    // The test would time out before the next poll.
    const options = { election: world.election, leaseDurationMs: 3_600_000, retryPeriodMs: 600_000, cooldownMs: 600_000 };
    const leader = new Elector({ ...options, store: world.store(), candidateId: "leader" });
    const standby = new Elector({ ...options, store: world.store(), candidateId: "standby" });
    const leadership = await leader.campaign();
    const campaign = standby.campaign();
    await expect.poll(async () => (await listeners(world)).length).toBe(1);
    await leadership[Symbol.asyncDispose]();
    await using next = await campaign;
    expect(next.term).toBe(2);
  });

  test("a standby whose listening breaks continues, and listens again", async ({ world }) => {
    const options = { election: world.election, leaseDurationMs: 15_000, retryPeriodMs: 200 };
    const leader = new Elector({ ...options, store: world.store(), candidateId: "leader" });
    const standby = new Elector({ ...options, store: world.store(), candidateId: "standby" });
    const leadership = await leader.campaign();
    const campaign = standby.campaign();
    for (let round = 0; round < 2; round += 1) {
      await expect.poll(async () => (await listeners(world)).length).toBe(1);
      for (const pid of await listeners(world)) await world.run("SELECT pg_terminate_backend(?::int)", [pid]);
    }
    await expect.poll(async () => (await listeners(world)).length).toBe(1);
    expect(leadership.isValid()).toBe(true);
    await leadership[Symbol.asyncDispose]();
    await using next = await campaign;
    expect(next.term).toBe(2);
  });
});
