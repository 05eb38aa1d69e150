import { Elector, type LeaseStore } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import { expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { ALL, describeDatabases, SERVERS, type SqlWorld } from "./sql-world.ts";

type Calls = ReadonlyArray<readonly [name: string, call: () => Promise<unknown>]>;

/** Returns every call that an elector, an observer or an administrator makes to a store. */
function callsOf(store: LeaseStore, lease: Lease): Calls {
  const { election } = lease;
  const elector = (): Elector => new Elector({ store, election });
  const watching = { signal: new AbortController().signal };
  return [
    ["acquire", async () => await store.acquire({ ...asKnown(lease), election: "never seen" })],
    ["renew", async () => await store.renew(lease, LIMITS)],
    ["publish", async () => await store.publish(lease, "v", LIMITS)],
    ["release", async () => await store.release(lease, LIMITS)],
    ["read", async () => await store.read(election)],
    ["break", async () => await store.break(election, { reason: "r" })],
    ["transfer", async () => await store.transfer(election, "b", {})],
    ["tryRun", async () => await elector().tryRun(() => undefined)],
    ["run", async () => await elector().run(() => undefined)],
    ...(store.watch
      ? [["watch", async () => await store.watch?.(election, watching)[Symbol.asyncIterator]().next()] as const]
      : []),
  ];
}

function asKnown({ candidateId, leaseDurationMs }: Lease) {
  return { candidateId, leaseDurationMs, renewIntervalMs: leaseDurationMs / 3, ...LIMITS };
}

/** Makes all of these calls on a store that was closed while it held a lease and an occurrence. */
async function everyCall(world: SqlWorld, place: unknown = world.place): Promise<Calls> {
  const store = world.store(place);
  const occurrences = store.occurrences(world.election, { retentionMs: 60_000 });
  const lease = await world.win(store);
  const claim = await world.win(occurrences);
  const session = await world.session();
  await session.run("BEGIN");
  await Promise.all([store.close(), store.close()]);
  await store.close();
  const calls: Calls = [
    ...callsOf(store, lease),
    ...callsOf(occurrences, claim),
    ["occurrences", async () => await store.occurrences("another", { retentionMs: 60_000 }).read("first")],
    ["migrate", async () => await store.migrate()],
    ["fence", async () => await store.fence(lease, session.connection)],
    // SQLite cannot fence an occurrence.
    ...(world.kind === "sqlite" ? [] : [["fence", async () => await occurrences.fence(claim, session.connection)] as const]),
  ];
  return calls;
}

await describeDatabases(ALL, (test) => {
  test("on a store that was closed, every request is an error that says so, and opens nothing again", async ({ world }) => {
    for (const [name, call] of await everyCall(world)) {
      const error = await failureOf(call());
      expect(error, name).toMatchObject({ code: "CONFIGURATION" });
      expect(error.message, name).toMatch(/This SqlLeaseStore was closed/);
    }
    // The lease is as it was.
    await expect(world.store().read(world.election)).resolves.toMatchObject({ term: 1, holder: "a" });
  });

  test("one that was closed before it was used opens nothing", async ({ world }) => {
    const store = world.store();
    await store.close();
    await expect(store.read(world.election)).rejects.toThrow(/was closed/);
  });
});

await describeDatabases(SERVERS, (test, kind) => {
  test("closing a pool ends every call that waits for one of its connections", async ({ world }) => {
    const store = world.store();
    await world.win(store);
    // More reads than the pool has connections.
    const reads = Array.from({ length: 20 }, () => store.read(world.election, { timeoutMs: 60_000 }));
    const settled = Promise.allSettled(reads);
    await Promise.race(reads);
    await store.close();

    const failures = (await settled).flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []));
    expect(failures.length).toBeGreaterThan(0);
    for (const failure of failures) expect(failure).toMatch(/closed/);
  });

  test("a pool that the user has closed says so, and ends no standby that it has served", async ({ world }) => {
    const pool = kind === "mysql" ? createPool(world.place) : new Pool({ connectionString: world.place });
    const store = world.store(pool);
    const lease = await world.win(store);
    const elector = new Elector({ store, election: world.election, retryPeriodMs: 500, logger: false });
    const standby = elector.run(() => undefined);
    await expect.poll(() => elector.health().lastContactAgeMs).toBeDefined();
    // A pool of pg has ended once the connection that listens was given back.
    const ended = pool.end();
    await expect.poll(() => elector.health().lastError).toMatchObject({ code: "STORE_REJECTED" });
    await expect(store.renew(lease, LIMITS)).rejects.toMatchObject({
      code: "STORE_REJECTED",
      mayHaveBeenApplied: false,
      message: expect.stringMatching(/ The handle .* is closed\./),
    });
    await expect(store.inspect({ election: world.election })).rejects.toMatchObject({ operation: "check" });
    await elector.stop();
    await expect(standby).resolves.toBeUndefined();
    await store.close();
    await ended;
  });

  test("a pool of the user's stays open, and is no longer used", async ({ world }) => {
    const pool = kind === "mysql" ? createPool(world.place) : new Pool({ connectionString: world.place });
    world.onEnd(() => pool.end());
    const calls = await everyCall(world, pool);
    await expect(calls[1]?.[1]()).rejects.toMatchObject({ code: "CONFIGURATION" });
    await expect(world.store(pool).read(world.election)).resolves.toMatchObject({ term: 1, holder: "a" });
  });
});
