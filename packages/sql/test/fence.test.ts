import { ConfigurationError, FencedError, UnsupportedError } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import type { SqlLeaseStore } from "@leasehold/sql";
import { describe, expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { HELD_OFF_ERROR, led, writes, type Led } from "./fencing.ts";
import { ALL, describeDatabases, SERVERS, type Session, type SqlWorld } from "./sql-world.ts";

/** Writes as the user, guarded by the leadership. @throws the error of `fence()`, after a rollback. */
async function guardedWrite(world: SqlWorld, store: SqlLeaseStore, lease: Lease, begin = "BEGIN"): Promise<void> {
  const session = await world.session();
  if (begin !== "BEGIN") await session.run(begin);
  await session.run("BEGIN");
  try {
    await store.fence(lease, session.connection);
    await session.run("INSERT INTO writes VALUES (?, ?)", [world.election, `term ${lease.term}`]);
    await session.run("COMMIT");
  } catch (error) {
    await session.rollback();
    throw error;
  }
}

/** Returns a transaction that has passed the fence and is still open. */
async function guarding(world: SqlWorld, { store, lease }: Led): Promise<Session> {
  const session = await world.session();
  await session.run("BEGIN");
  await store.fence(lease, session.connection);
  return session;
}

await describeDatabases(ALL, (test, kind) => {
  test("a leader's writes pass as long as it leads", async ({ world }) => {
    const { store, lease } = await led(world);
    await guardedWrite(world, store, lease);
    await store.renew(lease, LIMITS);
    await store.publish(lease, "value", LIMITS);
    await guardedWrite(world, store, lease);
    // A store of another process knows the leadership only by its term and termId.
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

    test("outside a transaction, because it would lock nothing", async ({ world }) => {
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
      await session.rollback();
      await expect(store.fence(lease, session.connection)).rejects.toMatchObject({ code: "UNSUPPORTED" });
      // The connection can still be used.
      await session.run("BEGIN");
      await store.fence(lease, session.connection);
      await session.run("INSERT INTO writes VALUES (?, ?)", [world.election, "fine"]);
      await session.run("COMMIT");
      await expect(writes(world)).resolves.toEqual(["fine"]);
    });

    test("on an object that is not a connection", async ({ world }) => {
      const { store, lease } = await led(world);
      const half = [{ prepare: () => undefined }, { exec: () => undefined }];
      for (const connection of [undefined, null, {}, "BEGIN", 5, { query: "SELECT" }, { prepare: true }, ...half]) {
        await expect(store.fence(lease, connection as never)).rejects.toBeInstanceOf(ConfigurationError);
      }
    });
  });

  describe("keeps a stale transaction from being committed", () => {
    test.for([
      ["swallowed", true],
      ["not awaited", false],
    ] as const)("if the FencedError is %s", async ([, isAwaited], { world }) => {
      const { store, lease } = await led(world);
      await store.release(lease, LIMITS);
      const session = await world.session();
      await session.run("BEGIN");
      await session.run("INSERT INTO writes VALUES (?, ?)", [world.election, "before"]);
      const fencing = failureOf(store.fence(lease, session.connection));
      if (isAwaited) await fencing;
      await session.run("INSERT INTO writes VALUES (?, ?)", [world.election, "after"]).catch(() => undefined);
      await session.run("COMMIT").catch(() => undefined);
      // A fence guards no write outside a transaction.
      await session.run("INSERT INTO writes VALUES (?, ?)", [world.election, "on its own"]).catch(() => undefined);
      await session.close();
      expect((await fencing)["code"]).toBe("FENCED");
      expect((await writes(world)).filter((who) => who !== "on its own")).toEqual([]);
    });
  });

  test("a transaction that begins again after a rollback is checked again", async ({ world }) => {
    const { store, lease } = await led(world);
    const session = await guarding(world, { store, lease });
    await session.rollback();
    await store.release(lease, LIMITS);
    await session.run("BEGIN");
    await expect(store.fence(lease, session.connection)).rejects.toBeInstanceOf(FencedError);
    await session.rollback();
  });

  test("the fence passes repeatedly within one transaction", async ({ world }) => {
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
    // A break begins with a read, which the fence does not hold off, and which takes time on a busy machine.
    const short = { timeoutMs: 1_500 };
    const HELD_OFF: Readonly<Record<string, (world: SqlWorld, led: Led) => Promise<unknown>>> = {
      "a release": async (_, { store, lease }) => store.release(lease, short),
      "a break": async (world) => world.store().break(world.election, { reason: "r", ...short }),
      "an immediate break": async (world) => world.store().break(world.election, { reason: "r", immediate: true, ...short }),
      "an acquisition": async (world) => {
        // The lease has run out, and its leader still has a transaction open.
        await world.run("UPDATE leasehold_leases SET lease_duration_ms = 1 WHERE election = ?", [world.name()]);
        const rival = world.store();
        await rival.read(world.election, { expiry: "store-clock" });
        return await rival.acquire(world.acquiring({ candidateId: "b", expiry: "store-clock", ...short }));
      },
    };

    test.for(Object.entries(HELD_OFF))("%s, which is then not carried out late", async ([name, attempt], { world }) => {
      const before = await led(world);
      const session = await guarding(world, before);
      const outcome = await attempt(world, before).catch((error: unknown) => error);
      expect(outcome, name).toMatchObject(HELD_OFF_ERROR);
      // Its wait at the server ends too.
      if (kind !== "sqlite") await expect.poll(() => world.busy()).toEqual([]);
      const { version } = (await world.leaseRow()) ?? {};
      await session.run("INSERT INTO writes VALUES (?, ?)", [world.election, "guarded"]);
      await session.run("COMMIT");

      await expect(writes(world)).resolves.toEqual(["guarded"]);
      // A statement that still waited for the lock would get it before one that asks only now.
      const other = await world.session();
      await other.run("BEGIN");
      await other.run("UPDATE leasehold_fences SET term = term WHERE election = ?", [world.name()]);
      await other.run("COMMIT");
      expect(await world.leaseRow()).toMatchObject({ term: 1, version, term_id: before.lease.termId });
      expect(await world.fenceRow()).toMatchObject({ term: 1, term_id: before.lease.termId });
    });

    test("renewals go on even while another session waits for the fence", async ({ world }) => {
      const before = await led(world);
      const session = await guarding(world, before);
      const breaking = world.store().break(world.election, { reason: "r", ...LIMITS });
      if (kind !== "sqlite") await expect.poll(async () => (await world.busy()).length).toBe(1);
      for (let renewals = 0; renewals < 3; renewals += 1) {
        await expect(before.store.renew(before.lease, { timeoutMs: 2_000 })).resolves.toMatchObject({ held: true });
      }
      await session.run("COMMIT");
      await expect(breaking).resolves.toEqual({ broken: true, term: 1 });
      await expect(before.store.renew(before.lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "broken" });
    });

    test("and then they pass", async ({ world }) => {
      const before = await led(world);
      const session = await guarding(world, before);
      const released = before.store.release(before.lease, LIMITS);
      // Renewals of other elections and reads of this one go on meanwhile.
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
      // The transaction's snapshot of all tables begins here.
      await session.run("SELECT * FROM writes");
      await store.release(lease, LIMITS);
      const error = await failureOf(store.fence(lease, session.connection));
      // PostgreSQL ends such a transaction itself; either way the caller rolls back.
      expect([error["code"], error["code"]]).toContain(kind === "mysql" ? "FENCED" : "40001");
      await session.rollback();
    },
  );

  test("two guarded transactions run side by side", async ({ world }) => {
    const before = await led(world);
    const [first, second] = [await guarding(world, before), await guarding(world, before)];
    await first.run("INSERT INTO writes VALUES (?, ?)", [world.election, "first"]);
    await second.run("INSERT INTO writes VALUES (?, ?)", [world.election, "second"]);
    await second.run("COMMIT");
    // The first transaction still holds off all others.
    await expect(before.store.release(before.lease, { timeoutMs: 150 })).rejects.toMatchObject(HELD_OFF_ERROR);
    await expect.poll(() => world.busy()).toEqual([]);
    await first.run("COMMIT");
    await expect(writes(world)).resolves.toHaveLength(2);
    await expect(before.store.release(before.lease, LIMITS)).resolves.toBe("released");
  });

  test("a deadlock is the driver's error, and the transaction can be repeated", async ({ world }) => {
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
    await session.rollback();
    await other.run("ROLLBACK");
    await guardedWrite(world, before.store, before.lease);
  });

  test("a statement that waits for the fence in vain fails with the driver's error", async ({ world }) => {
    const before = await led(world);
    const other = await world.session();
    await other.run("BEGIN");
    await other.run("UPDATE leasehold_fences SET term = term WHERE election = ?", [world.name()]);
    const session = await world.session();
    await session.run(kind === "mysql" ? "SET SESSION innodb_lock_wait_timeout = 1" : "SET lock_timeout = 100");
    await session.run("BEGIN");
    const error = await failureOf(before.store.fence(before.lease, session.connection));
    expect(error["code"]).toBe(kind === "mysql" ? "ER_LOCK_WAIT_TIMEOUT" : "55P03");
    await session.rollback();
    await other.run("ROLLBACK");
    await guardedWrite(world, before.store, before.lease);
  });

  test.for([
    ["swallowed", true],
    ["not awaited", false],
  ] as const)(
    "a fence that got no lock keeps the transaction from being committed if its error is %s",
    async ([, isAwaited], { world }) => {
      const { store, lease } = await led(world);
      const other = await world.session();
      await other.run("BEGIN");
      await other.run("UPDATE leasehold_fences SET term = term WHERE election = ?", [world.name()]);
      const session = await world.session();
      await session.run(kind === "mysql" ? "SET SESSION innodb_lock_wait_timeout = 1" : "SET lock_timeout = 100");
      await session.run("BEGIN");
      const fencing = failureOf(store.fence(lease, session.connection));
      if (isAwaited) await fencing;
      await session.run("INSERT INTO writes VALUES (?, ?)", [world.election, "unguarded"]).catch(() => undefined);
      await session.run("COMMIT").catch(() => undefined);
      await fencing;
      await session.close();
      await other.run("ROLLBACK");
      expect(await writes(world)).toEqual([]);
    },
  );
});
