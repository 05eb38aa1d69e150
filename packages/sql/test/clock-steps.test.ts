import { Elector, type LeaseStore } from "@leasehold/core";
import { systemClock, type Clock, RecordLeaseStore } from "@leasehold/core/provider";
import { expect } from "vitest";
import { startMariaDb } from "@leasehold/test-kit/backends/mariadb";
import { startPostgres } from "@leasehold/test-kit/backends/postgres";
import { hostClock } from "../src/sqlite/host-clock.ts";
import { SqliteDatabase } from "../src/sqlite/sqlite-database.ts";
import { LEASE_MS, LIMITS } from "@leasehold/test-kit/acquisitions";
import { ALL, describeDatabases, failOver, letPass, SERVERS, SqlWorld, stepClock } from "./sql-world.ts";

/** A clock that is this much ahead shows that a lease just granted has expired. */
const AHEAD_MS = LEASE_MS + 1_000;

/** Returns whether a process that has just started is elected at once, by the database's clock. */
async function isElectedCold(world: SqlWorld, store: LeaseStore = world.store()): Promise<boolean> {
  const elector = new Elector({ store, election: world.election, candidateId: "cold" });
  return (await elector.tryRun(() => undefined)).elected;
}

async function coldState(world: SqlWorld, store: LeaseStore = world.store()): Promise<string | undefined> {
  return (await store.read(world.election, { expiry: "store-clock" }))?.state;
}

/** Returns a clock whose wall time is ahead. */
function wallAhead(ms: number): Clock {
  return { ...systemClock, wallMs: () => systemClock.wallMs() + ms };
}

await describeDatabases(ALL, (test) => {
  test("a leader keeps its lease after the database's clock is set forward", async ({ world }) => {
    const store = world.store();
    const lease = await world.win(store);
    await stepClock(world, AHEAD_MS);

    expect(await isElectedCold(world)).toBe(false);
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("a server tells no age of a nonce that another server wrote, or the same one before a restart", async ({ world }) => {
    await world.win(world.store());
    await letPass(world, AHEAD_MS);
    await failOver(world);

    expect(await coldState(world)).toBe("unknown");
    expect(await isElectedCold(world)).toBe(false);
  });

  test("a lease of unknown age whose holder is gone is taken over one lease after the first attempt", async ({ world }) => {
    await world.win(world.store());
    await letPass(world, AHEAD_MS);
    await failOver(world);

    expect(await isElectedCold(world)).toBe(false);
    expect(await coldState(world)).toBe("held");
    await letPass(world, LEASE_MS);
    expect(await isElectedCold(world)).toBe(true);
  });

  test("a renewal on the new server makes the age known again", async ({ world }) => {
    const store = world.store();
    const lease = await world.win(store);
    await failOver(world);
    await store.renew(lease, LIMITS);
    expect(await coldState(world)).toBe("held");
    await letPass(world, AHEAD_MS);

    expect(await coldState(world)).toBe("expired");
  });

  test.for([AHEAD_MS, -AHEAD_MS])(
    "a process whose wall clock is %d ms ahead does not take a leader's lease",
    async (ms, { world }) => {
      await world.win(world.store());

      expect(await isElectedCold(world, world.store(world.place, wallAhead(ms)))).toBe(false);
    },
  );

  test("a wall clock alone never frees a lease, and can keep an expired lease from being freed", async ({ world }) => {
    await world.win(world.store());
    await letPass(world, AHEAD_MS);

    expect(await coldState(world, world.store(world.place, wallAhead(-AHEAD_MS)))).toBe("unknown");
    await stepClock(world, -AHEAD_MS);
    expect(await isElectedCold(world)).toBe(false);
  });

  test("an administrator's write keeps the nonce's time, its clock, and the writer's wall clock", async ({ world }) => {
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

  test("a lease is refused if its margin is smaller than the clock's tolerance", ({ world }) => {
    const store = world.store();
    expect(store.capabilities.minLeaseMs).toBe(1_000);
    expect(store.occurrences(world.election, { retentionMs: 1 }).capabilities.minLeaseMs).toBe(1_000);
    expect(() => new Elector({ store, election: world.election, leaseDurationMs: 999 })).toThrow(/takes 1000 to/);
  });
});

await describeDatabases(SERVERS, (test, kind) => {
  test("a replica that becomes the primary does not tell an age by the former primary's clock", async ({ world }) => {
    await world.win(world.store());
    await letPass(world, AHEAD_MS);
    await using daemon = await (kind === "mysql" ? startMariaDb() : startPostgres());
    await using there = new SqlWorld({ kind, daemon, place: () => daemon.url });
    const store = there.store();
    await store.migrate();
    // Replication copies the row, value by value.
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
  test("the time is the host's time since its start, which cannot be set", async ({ world }) => {
    await world.win(world.store());
    const row = await world.leaseRow();
    expect(row?.["nonce_clock"]).toBe(hostClock.identity);
    expect(Number(row?.["nonce_at"])).toBeLessThanOrEqual(hostClock.nowMs());
    expect(Number(row?.["nonce_at"])).toBeGreaterThan(hostClock.nowMs() - 60_000);
  });

  test("another host, or another run of this host, tells no age", async ({ world }) => {
    await world.win(world.store());
    await letPass(world, AHEAD_MS);
    const on = (identity: string): RecordLeaseStore => {
      const database = new SqliteDatabase(world.place, systemClock, { host: { identity, nowMs: () => hostClock.nowMs() } });
      world.onEnd(() => database.close());
      return new RecordLeaseStore(database);
    };

    expect(await coldState(world, on("another"))).toBe("unknown");
    expect(await coldState(world, on(hostClock.identity))).toBe("expired");
  });

  test("a host's clock that began anew makes leases younger, and frees none", async ({ world }) => {
    await world.win(world.store());
    const restarted = { identity: hostClock.identity, nowMs: () => AHEAD_MS };
    const database = new SqliteDatabase(world.place, wallAhead(AHEAD_MS), { host: restarted });
    world.onEnd(() => database.close());

    expect(await coldState(world, new RecordLeaseStore(database, { clock: wallAhead(AHEAD_MS) }))).toBe("unknown");
  });
});
