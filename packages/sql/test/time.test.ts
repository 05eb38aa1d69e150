import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import { expect } from "vitest";
import type { SqlDatabase } from "../src/sql-database.ts";
import { ALL, describeDatabases, recordOf, SERVERS, stepClock } from "./sql-world.ts";

const SHORT_MS = 2_000;
const SHORT = { leaseDurationMs: SHORT_MS, renewIntervalMs: SHORT_MS / 3 };
const signal = new AbortController().signal;

async function ageOf(rows: SqlDatabase, election: string): Promise<number> {
  const found = await rows.get(election, { signal, consistent: true });
  return found?.nonceAgeMs?.[0] ?? expect.fail("There is no age.");
}

await describeDatabases(ALL, (test, kind) => {
  test("a record's age is by the database's clock", async ({ world }) => {
    const rows = world.rows();
    const beganMs = performance.now();
    // Two clocks of this machine may differ a little during a test.
    const sinceMs = (): number => performance.now() - beganMs + 50;
    await rows.put(world.election, recordOf(), {
      ifVersion: undefined,
      keepsNonce: false,
      fence: { term: 1, termId: "t" },
      signal,
    });
    const first = await ageOf(rows, world.election);
    expect(first).toBeGreaterThanOrEqual(0);
    expect(first).toBeLessThan(sinceMs());
    await stepClock(world, 3_600_000);
    const later = await ageOf(rows, world.election);
    expect(later).toBeGreaterThanOrEqual(3_600_000 + first);
    expect(later).toBeLessThan(3_600_000 + sinceMs());
    // Exact to a millisecond at least.
    await stepClock(world, 1 - 3_600_000);
    expect(await ageOf(rows, world.election)).toBeLessThan(1 + sinceMs());
  });

  if (kind !== "sqlite")
    test("the time zones of sessions do not matter", async ({ world }) => {
      const zones = kind === "mysql" ? ["+13:00", "-11:00", "+00:00"] : ["Pacific/Auckland", "America/New_York", "UTC"];
      const inZone = (zone: string): SqlDatabase => {
        if (kind === "postgres") {
          const pool = new Pool({ connectionString: world.place, options: `-c timezone=${zone}` });
          world.onEnd(() => pool.end());
          return world.rows(pool);
        }
        const pool = createPool({ uri: world.place, connectionLimit: 1 });
        world.onEnd(() => pool.end());
        // The pool's one connection runs the statements in this order.
        void pool.query(`SET SESSION time_zone = '${zone}'`);
        return world.rows(pool);
      };
      for (const writer of zones) {
        const election = `${world.election} ${writer}`;
        const fence = { term: 1, termId: "t" };
        await inZone(writer).put(election, recordOf(), { ifVersion: undefined, keepsNonce: false, fence, signal });
        for (const reader of zones) {
          const ageMs = await ageOf(inZone(reader), election);
          expect(ageMs).toBeGreaterThanOrEqual(0);
          expect(ageMs).toBeLessThan(1_800_000);
        }
      }
    });

  test("a clock that was set back gives a negative age, and then only what was observed counts", async ({ world }) => {
    await world.win(world.store(), SHORT);
    await stepClock(world, -3_600_000);
    const store = world.store();
    await expect(store.read(world.election, { expiry: "store-clock" })).resolves.toMatchObject({ state: "unknown" });
    const { ageMs = [] } = (await store.read(world.election, { expiry: "store-clock" })) ?? {};
    expect(ageMs[0]).toBeGreaterThanOrEqual(0);
    expect(ageMs[0]).toBeLessThan(1_800_000);
    // This holds for the whole nonce, even if the clock steps forward again.
    await stepClock(world, 7_200_000);
    const again = await store.read(world.election, { expiry: "store-clock" });
    expect(again?.ageMs?.[0]).toBeLessThan(1_800_000);
    expect(again?.state).not.toBe("held");
  });

  test("a clock that steps forward between two readings is not believed", async ({ world }) => {
    await world.win(world.store(), { leaseDurationMs: 600_000, renewIntervalMs: 200_000 });
    const store = world.store();
    await expect(store.read(world.election, { expiry: "store-clock" })).resolves.toMatchObject({ state: "held" });
    await stepClock(world, 3_600_000);
    const request = world.acquiring({ candidateId: "b", expiry: "store-clock" });
    await expect(store.read(world.election, { expiry: "store-clock" })).resolves.not.toMatchObject({ state: "expired" });
    await expect(store.acquire(request)).resolves.toMatchObject({ acquired: false });
  });
});

await describeDatabases(SERVERS, (test) => {
  test("capabilities.storeClock says how far the clock is trusted", ({ world }) => {
    const { storeClock, expiry, fence } = world.store().capabilities;
    expect({ storeClock, expiry, fence }).toEqual({
      storeClock: { toleranceMs: 100, exact: false, mayStep: true },
      expiry: "observed",
      fence: "atomic",
    });
  });
});
