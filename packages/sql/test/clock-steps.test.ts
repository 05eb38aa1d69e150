import { Elector, systemClock, type Clock, type LeaseStore } from "@leasehold/core";
import { RecordLeaseStore } from "@leasehold/core/provider";
import { expect } from "vitest";
import { startMariaDb } from "@leasehold/test-kit/backends/mariadb";
import { startPostgres } from "@leasehold/test-kit/backends/postgres";
import { hostClock } from "../src/sqlite/host-clock.ts";
import { SqliteDatabase } from "../src/sqlite/sqlite-database.ts";
import { LEASE_MS, LIMITS } from "@leasehold/test-kit/acquisitions";
import { ALL, describeDatabases, failOver, letPass, SERVERS, SqlWorld, stepClock } from "./sql-world.ts";

/** By a clock that is so much ahead, a lease that was just granted has run out. */
const AHEAD_MS = LEASE_MS + 1_000;

/** A process without a memory is elected at once, by the database's clock. */
async function isElectedCold(world: SqlWorld, store: LeaseStore = world.store()): Promise<boolean> {
  const elector = new Elector({ store, election: world.election, candidateId: "cold" });
  return (await elector.tryRun(() => undefined)).elected;
}

async function coldState(world: SqlWorld, store: LeaseStore = world.store()): Promise<string | undefined> {
  return (await store.read(world.election, { expiry: "store-clock" }))?.state;
}

/** A process whose wall clock is ahead. */
function wallAhead(ms: number): Clock {
  return { ...systemClock, wallMs: () => systemClock.wallMs() + ms };
}

await describeDatabases(ALL, (test) => {
  test("a leader is left alone after the database's clock was set forward", async ({ world }) => {
    const store = world.store();
    const lease = await world.win(store);
    await stepClock(world, AHEAD_MS);

    expect(await isElectedCold(world)).toBe(false);
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("no age is told of what another server has written, or the same one before it was started again", async ({ world }) => {
    await world.win(world.store());
    await letPass(world, AHEAD_MS);
    await failOver(world);

    expect(await coldState(world)).toBe("unknown");
    expect(await isElectedCold(world)).toBe(false);
  });

  test("whose holder is gone, it is taken over all the same, a lease after the first attempt", async ({ world }) => {
    await world.win(world.store());
    await letPass(world, AHEAD_MS);
    await failOver(world);

    expect(await isElectedCold(world)).toBe(false);
    expect(await coldState(world)).toBe("held");
    await letPass(world, LEASE_MS);
    expect(await isElectedCold(world)).toBe(true);
  });

  test("nor does a renewal on the new server help a clock that was another one's", async ({ world }) => {
    const store = world.store();
    const lease = await world.win(store);
    await failOver(world);
    await store.renew(lease, LIMITS);
    expect(await coldState(world)).toBe("held");
    await letPass(world, AHEAD_MS);

    expect(await coldState(world)).toBe("expired");
  });

  test.for([AHEAD_MS, -AHEAD_MS])(
    "a leader is left alone by a process whose wall clock is %d ms ahead",
    async (ms, { world }) => {
      await world.win(world.store());

      expect(await isElectedCold(world, world.store(world.place, wallAhead(ms)))).toBe(false);
    },
  );

  test("a wall clock alone never frees a lease, and keeps one from being freed that has run out", async ({ world }) => {
    await world.win(world.store());
    await letPass(world, AHEAD_MS);

    expect(await coldState(world, world.store(world.place, wallAhead(-AHEAD_MS)))).toBe("unknown");
    await stepClock(world, -AHEAD_MS);
    expect(await isElectedCold(world)).toBe(false);
  });

  test("what an administrator writes keeps the time, its clock, and the writer's wall clock", async ({ world }) => {
    await world.win(world.store());
    await letPass(world, AHEAD_MS);
    await failOver(world);
    await world.store(world.place, wallAhead(AHEAD_MS)).break(world.election, { reason: "maintenance" });
    expect(await coldState(world)).toBe("unknown");

    const other = new SqlWorld(world.server);
    await other.win(other.store());
    await letPass(other, AHEAD_MS);
    await other.store(other.place, wallAhead(AHEAD_MS)).break(other.election, { reason: "maintenance" });
    expect(await coldState(other)).toBe("expired");
    await other[Symbol.asyncDispose]();
  });

  test("a lease that the clock's tolerance would use up is refused", ({ world }) => {
    const store = world.store();
    expect(store.capabilities.minLeaseMs).toBe(1_000);
    expect(store.occurrences(world.election, { retentionMs: 1 }).capabilities.minLeaseMs).toBe(1_000);
    expect(() => new Elector({ store, election: world.election, leaseDurationMs: 999 })).toThrow(/takes 1000 to/);
  });
});

await describeDatabases(SERVERS, (test, kind) => {
  test("a server to which a failover goes does not tell the age by the former one's clock", async ({ world }) => {
    await world.win(world.store());
    await letPass(world, AHEAD_MS);
    await using daemon = await (kind === "mysql" ? startMariaDb() : startPostgres());
    await using there = new SqlWorld({ kind, daemon, place: () => daemon.url });
    const store = there.store();
    await store.migrate();
    // Replication: the row, value by value.
    const { election: _, ...row } =
      (await world.run("SELECT * FROM leasehold_leases WHERE election = ?", [world.name()]))[0] ?? {};
    const columns = Object.keys(row);
    await there.run(
      `INSERT INTO leasehold_leases (election, ${columns.join(", ")}) VALUES (?, ${columns.map(() => "?").join(", ")})`,
      [there.name(), ...Object.values(row)],
    );

    expect(await coldState(world)).toBe("expired");
    expect(await coldState(there)).toBe("unknown");
    expect(await isElectedCold(there)).toBe(false);
  });
});

await describeDatabases(["sqlite"], (test) => {
  test("the time is the host's own since it was started, which nobody sets", async ({ world }) => {
    await world.win(world.store());
    const row = await world.leaseRow();
    expect(row?.["nonce_clock"]).toBe(hostClock.identity);
    expect(Number(row?.["nonce_at"])).toBeLessThanOrEqual(hostClock.nowMs());
    expect(Number(row?.["nonce_at"])).toBeGreaterThan(hostClock.nowMs() - 60_000);
  });

  test("another host, or another run of this one, tells no age", async ({ world }) => {
    await world.win(world.store());
    await letPass(world, AHEAD_MS);
    const on = (identity: string): RecordLeaseStore => {
      const database = new SqliteDatabase(world.place, systemClock, { identity, nowMs: () => hostClock.nowMs() });
      world.onEnd(() => database.close());
      return new RecordLeaseStore(database);
    };

    expect(await coldState(world, on("another"))).toBe("unknown");
    expect(await coldState(world, on(hostClock.identity))).toBe("expired");
  });

  test("a host's clock that began anew makes leases younger, and frees none", async ({ world }) => {
    await world.win(world.store());
    const restarted = { identity: hostClock.identity, nowMs: () => AHEAD_MS };
    const database = new SqliteDatabase(world.place, wallAhead(AHEAD_MS), restarted);
    world.onEnd(() => database.close());

    expect(await coldState(world, new RecordLeaseStore(database, { clock: wallAhead(AHEAD_MS) }))).toBe("unknown");
  });
});
