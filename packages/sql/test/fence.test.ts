import { ConfigurationError, FencedError, systemClock, UnsupportedError, type Clock } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import type { SqlLeaseStore } from "@leasehold/sql";
import { createConnection } from "mysql2";
import { describe, expect } from "vitest";
import { LEASE_MS, LIMITS } from "@leasehold/test-kit/acquisitions";
import { MovableClock } from "@leasehold/test-kit/clocks/movable-clock";
import { failureOf } from "@leasehold/test-kit/failure";
import { ALL, describeDatabases, IN_VAIN, letPass, SERVERS, type Session, type SqlWorld } from "./sql-world.ts";

interface Led {
  readonly store: SqlLeaseStore;
  readonly lease: Lease;
}

/** A leader, and a table of the user's that it writes to. */
async function led(world: SqlWorld, clock: Clock = systemClock): Promise<Led> {
  const store = world.store(world.place, clock);
  const lease = await world.win(store);
  await world.run("CREATE TABLE IF NOT EXISTS writes (election VARCHAR(100), who VARCHAR(100))");
  return { store, lease };
}

async function writes(world: SqlWorld): Promise<readonly unknown[]> {
  return (await world.run("SELECT who FROM writes WHERE election = ?", [world.election])).map(({ who }) => who);
}

/** A write of the user's, guarded by the leadership. @throws what `fence()` throws, rolled back. */
async function guardedWrite(world: SqlWorld, store: SqlLeaseStore, lease: Lease, begin = "BEGIN"): Promise<void> {
  const session = await world.session();
  if (begin !== "BEGIN") await session.run(begin);
  await session.run("BEGIN");
  try {
    await store.fence(lease, session.connection);
    await session.run("INSERT INTO writes VALUES (?, ?)", [world.election, `term ${lease.term}`]);
    await session.run("COMMIT");
  } catch (error) {
    await session.run("ROLLBACK");
    throw error;
  }
}

/** A transaction that has passed the fence and goes on. */
async function guarding(world: SqlWorld, { store, lease }: Led): Promise<Session> {
  const session = await world.session();
  await session.run("BEGIN");
  await store.fence(lease, session.connection);
  return session;
}

await describeDatabases(ALL, (test, kind) => {
  test("a leader's write passes, as often as it leads", async ({ world }) => {
    const { store, lease } = await led(world);
    await guardedWrite(world, store, lease);
    await store.renew(lease, LIMITS);
    await store.publish(lease, "value", LIMITS);
    await guardedWrite(world, store, lease);
    // A store of another process knows it by term and termId alone.
    await guardedWrite(world, world.store(), { ...lease });
    await expect(writes(world)).resolves.toEqual(["term 1", "term 1", "term 1"]);
  });

  describe("is refused", () => {
    const ENDS: Readonly<Record<string, (world: SqlWorld, led: Led) => Promise<unknown>>> = {
      "after a release": async (_, { store, lease }) => store.release(lease, LIMITS),
      "after a break": async (world) => world.store().break(world.election, { reason: "r" }),
      "after an immediate break": async (world) => world.store().break(world.election, { reason: "r", immediate: true }),
      "after the row of the fence has gone": async (world) =>
        world.run("DELETE FROM leasehold_fences WHERE election = ?", [world.name()]),
    };

    test.for(Object.entries(ENDS))("%s", async ([, end], { world }) => {
      const before = await led(world);
      await end(world, before);
      const error = await failureOf(guardedWrite(world, before.store, before.lease));
      expect(error).toBeInstanceOf(FencedError);
      expect(error).toMatchObject({ code: "FENCED", election: world.election, term: 1 });
      await expect(writes(world)).resolves.toEqual([]);
    });

    test("after a successor's acquisition, which the error names", async ({ world }) => {
      const { store, lease } = await led(world);
      await world.store().break(world.election, { reason: "r", immediate: true });
      const next = await world.win(world.store(), { candidateId: "b" });
      const error = await failureOf(guardedWrite(world, store, lease));
      expect(error).toMatchObject({ code: "FENCED", term: 1, currentTerm: 2 });
      expect(error.message).toContain("term 2");
      expect(error.message).not.toContain(next.termId);
      await guardedWrite(world, store, next);
      await expect(writes(world)).resolves.toEqual(["term 2"]);
    });

    test("with another termId of the same term, another term of that termId, or another election", async ({ world }) => {
      const { store, lease } = await led(world);
      for (const other of [
        { termId: `${lease.termId} ` },
        { termId: lease.termId.toUpperCase() },
        { termId: "" },
        { term: 2 },
        { term: 0 },
        { election: world.election.toUpperCase() },
        { election: `${world.election} ` },
      ]) {
        await expect(guardedWrite(world, store, { ...lease, ...other })).rejects.toBeInstanceOf(FencedError);
      }
      await expect(writes(world)).resolves.toEqual([]);
    });

    test("outside a transaction, since nothing would be locked: that is no use of it", async ({ world }) => {
      const { store, lease } = await led(world);
      const session = await world.session();
      await expect(store.fence(lease, session.connection)).rejects.toBeInstanceOf(UnsupportedError);
      await session.run("BEGIN");
      await store.fence(lease, session.connection);
      await session.run("COMMIT");
      await expect(store.fence(lease, session.connection)).rejects.toMatchObject({
        code: "UNSUPPORTED",
        election: world.election,
        message: expect.stringContaining("its lock on leasehold_fences"),
      });
      await session.run("BEGIN");
      await session.run("ROLLBACK");
      await expect(store.fence(lease, session.connection)).rejects.toMatchObject({ code: "UNSUPPORTED" });
      // The connection can still be used.
      await session.run("BEGIN");
      await store.fence(lease, session.connection);
      await session.run("INSERT INTO writes VALUES (?, ?)", [world.election, "fine"]);
      await session.run("COMMIT");
      await expect(writes(world)).resolves.toEqual(["fine"]);
    });

    test("on something that is no connection", async ({ world }) => {
      const { store, lease } = await led(world);
      const half = [{ prepare: () => undefined }, { exec: () => undefined }];
      for (const connection of [undefined, null, {}, "BEGIN", 5, { query: "SELECT" }, { prepare: true }, ...half]) {
        await expect(store.fence(lease, connection)).rejects.toBeInstanceOf(ConfigurationError);
      }
    });
  });

  test("a transaction that is rolled back to before the fence and begun anew asks again", async ({ world }) => {
    const { store, lease } = await led(world);
    const session = await guarding(world, { store, lease });
    await session.run("ROLLBACK");
    await store.release(lease, LIMITS);
    await session.run("BEGIN");
    await expect(store.fence(lease, session.connection)).rejects.toBeInstanceOf(FencedError);
    await session.run("ROLLBACK");
  });

  test("the fence passes within a transaction as often as it is asked", async ({ world }) => {
    const { store, lease } = await led(world);
    const session = await guarding(world, { store, lease });
    await store.fence(lease, session.connection);
    await session.run("SAVEPOINT mine");
    await store.fence(lease, session.connection);
    await session.run("INSERT INTO writes VALUES (?, ?)", [world.election, "fine"]);
    await session.run("ROLLBACK TO SAVEPOINT mine");
    await session.run("COMMIT");
    await expect(writes(world)).resolves.toEqual([]);
  });

  describe("holds off until the transaction has ended", () => {
    const HELD_OFF: Readonly<Record<string, (world: SqlWorld, led: Led, other: SqlLeaseStore) => Promise<unknown>>> = {
      "a release": async (_, { store, lease }) => store.release(lease, IN_VAIN),
      "a break": async (world, _, other) => other.break(world.election, { reason: "r", ...IN_VAIN }),
      "an immediate break": async (world, _, other) => other.break(world.election, { reason: "r", immediate: true, ...IN_VAIN }),
      "an acquisition": async (world, _, other) => {
        // The lease has run out, and its leader is in a transaction all the same.
        await letPass(world, 2 * LEASE_MS);
        await other.read(world.election, { expiry: "store-clock" });
        return await other.acquire(world.acquiring({ candidateId: "b", expiry: "store-clock", ...IN_VAIN }));
      },
    };

    test.for(Object.entries(HELD_OFF))("%s, which is then not carried out late", async ([name, attempt], { world }) => {
      const clock = new MovableClock();
      clock.run();
      const before = await led(world, clock);
      const other = world.store(world.place, clock);
      await other.read(world.election);
      const session = await guarding(world, before);
      const outcome = await world.inVain(clock, attempt(world, before, other));
      expect(outcome, name).toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: true });
      // It is cancelled where it waits.
      if (kind !== "sqlite") await expect.poll(() => world.busy()).toEqual([]);
      const { version } = (await world.leaseRow()) ?? {};
      await session.run("INSERT INTO writes VALUES (?, ?)", [world.election, "guarded"]);
      await session.run("COMMIT");

      await expect(writes(world)).resolves.toEqual(["guarded"]);
      // Whatever waited for the lock would have had it before one that asks for it only now.
      const later = await world.session();
      await later.run("BEGIN");
      await later.run("UPDATE leasehold_fences SET term = term WHERE election = ?", [world.name()]);
      await later.run("COMMIT");
      expect(await world.leaseRow()).toMatchObject({ term: 1, version, term_id: before.lease.termId });
      expect(await world.fenceRow()).toMatchObject({ term: 1, term_id: before.lease.termId });
    });

    test("and renewals go on even while somebody waits for the fence", async ({ world }) => {
      const before = await led(world);
      const session = await guarding(world, before);
      const breaking = world.store().break(world.election, { reason: "r", ...LIMITS });
      if (kind !== "sqlite") await expect.poll(async () => (await world.busy()).length).toBe(1);
      for (let renewals = 0; renewals < 3; renewals += 1) {
        await expect(before.store.renew(before.lease, LIMITS)).resolves.toMatchObject({ held: true });
      }
      await session.run("COMMIT");
      await expect(breaking).resolves.toEqual({ broken: true, term: 1 });
      await expect(before.store.renew(before.lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "broken" });
    });

    test("and then they pass", async ({ world }) => {
      const before = await led(world);
      const session = await guarding(world, before);
      const released = before.store.release(before.lease, LIMITS);
      // Renewals of other elections and looks at this one go on meanwhile.
      await expect(world.store().read(world.election)).resolves.toMatchObject({ term: 1 });
      await session.run("INSERT INTO writes VALUES (?, ?)", [world.election, "guarded"]);
      await session.run("COMMIT");
      await expect(released).resolves.toBe("released");
      await expect(guardedWrite(world, before.store, before.lease)).rejects.toBeInstanceOf(FencedError);
      await expect(writes(world)).resolves.toEqual(["guarded"]);
    });
  });
});

await describeDatabases(SERVERS, (test, kind) => {
  const setting = (level: string): string =>
    kind === "mysql"
      ? `SET SESSION TRANSACTION ISOLATION LEVEL ${level}`
      : `SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL ${level}`;

  test.for(["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])(
    "it guards transactions that are %s",
    async (level, { world }) => {
      const { store, lease } = await led(world);
      await guardedWrite(world, store, lease, setting(level));
      await store.release(lease, LIMITS);
      await expect(guardedWrite(world, store, lease, setting(level))).rejects.toBeInstanceOf(FencedError);
      const next = await world.win(store);
      await guardedWrite(world, store, next, setting(level));
      await expect(writes(world)).resolves.toEqual(["term 1", "term 2"]);
    },
  );

  test.for(["REPEATABLE READ", "SERIALIZABLE"])(
    "one that is %s and began before the release does not pass after it",
    async (level, { world }) => {
      const { store, lease } = await led(world);
      const session = await world.session();
      await session.run(setting(level));
      await session.run("BEGIN");
      // Its view of all tables begins here.
      await session.run("SELECT * FROM writes");
      await store.release(lease, LIMITS);
      const error = await failureOf(store.fence(lease, session.connection));
      // PostgreSQL ends such a transaction itself; either way the caller rolls back.
      expect([error["code"], error["code"]]).toContain(kind === "mysql" ? "FENCED" : "40001");
      await session.run("ROLLBACK");
    },
  );

  test("two guarded transactions go side by side", async ({ world }) => {
    const before = await led(world);
    const [first, second] = [await guarding(world, before), await guarding(world, before)];
    await first.run("INSERT INTO writes VALUES (?, ?)", [world.election, "first"]);
    await second.run("INSERT INTO writes VALUES (?, ?)", [world.election, "second"]);
    await second.run("COMMIT");
    // The first still holds everybody off.
    await expect(before.store.release(before.lease, { timeoutMs: 150 })).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    await expect.poll(() => world.busy()).toEqual([]);
    await first.run("COMMIT");
    await expect(writes(world)).resolves.toHaveLength(2);
    await expect(before.store.release(before.lease, LIMITS)).resolves.toBe("released");
  });

  test("a deadlock is the caller's, as the driver says it, and passes", async ({ world }) => {
    const before = await led(world);
    const session = await guarding(world, before);
    const other = await world.session();
    await other.run("CREATE TABLE IF NOT EXISTS locked (election VARCHAR(100) PRIMARY KEY)");
    await other.run("INSERT INTO locked VALUES (?)", [world.election]);
    await other.run("BEGIN");
    await other.run("UPDATE locked SET election = election WHERE election = ?", [world.election]);
    const lockFence = other.run("UPDATE leasehold_fences SET term = term WHERE election = ?", [world.name()]);
    await expect.poll(async () => (await world.busy()).length).toBeGreaterThan(0);
    const lockOther = session.run("UPDATE locked SET election = election WHERE election = ?", [world.election]);
    const outcomes = await Promise.allSettled([lockFence, lockOther]);
    const victims = outcomes.flatMap((outcome) =>
      outcome.status === "rejected" ? [(outcome.reason as { code: string }).code] : [],
    );
    expect(victims).toEqual([kind === "mysql" ? "ER_LOCK_DEADLOCK" : "40P01"]);
    await session.run("ROLLBACK");
    await other.run("ROLLBACK");
    await guardedWrite(world, before.store, before.lease);
  });

  test("a statement that waits for the fence in vain fails as the driver says it", async ({ world }) => {
    const before = await led(world);
    const other = await world.session();
    await other.run("BEGIN");
    await other.run("UPDATE leasehold_fences SET term = term WHERE election = ?", [world.name()]);
    const session = await world.session();
    await session.run(kind === "mysql" ? "SET SESSION innodb_lock_wait_timeout = 1" : "SET lock_timeout = 100");
    await session.run("BEGIN");
    const error = await failureOf(before.store.fence(before.lease, session.connection));
    expect(error["code"]).toBe(kind === "mysql" ? "ER_LOCK_WAIT_TIMEOUT" : "55P03");
    await session.run("ROLLBACK");
    await other.run("ROLLBACK");
    await guardedWrite(world, before.store, before.lease);
  });
});

await describeDatabases(["mysql"], (test) => {
  test("a transaction begun by autocommit = 0 is one", async ({ world }) => {
    const { store, lease } = await led(world);
    const session = await world.session();
    await session.run("SET autocommit = 0");
    await store.fence(lease, session.connection);
    await expect(store.release(lease, { timeoutMs: 150 })).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    await expect.poll(() => world.busy()).toEqual([]);
    await session.run("COMMIT");
    await expect(store.release(lease, LIMITS)).resolves.toBe("released");
  });

  test("a connection that takes callbacks does as well", async ({ world }) => {
    const { store, lease } = await led(world);
    const connection = createConnection(world.place);
    world.onEnd(async () => connection.destroy());
    await expect(store.fence(lease, connection)).rejects.toBeInstanceOf(UnsupportedError);
    connection.query("BEGIN");
    await store.fence(lease, connection);
    await expect(store.fence({ ...lease, term: 2 }, connection)).rejects.toBeInstanceOf(FencedError);
  });
});
