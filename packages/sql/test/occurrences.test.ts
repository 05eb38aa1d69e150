import { readFile } from "node:fs/promises";
import { Elector } from "@leasehold/core";
import type { SqlLeaseStore, SqlOccurrenceStore } from "@leasehold/sql";
import { describe, expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { ALL, describeDatabases, type Kind, type SqlWorld } from "./sql-world.ts";

const TICK = "nightly@2026-11-20T10:00:00.000Z";
const NEXT = "nightly@2026-11-21T10:00:00.000Z";
const RETENTION_MS = 3_600_000;

/** Returns the occurrences of the world's election in one more process, which has no memory of them. */
function occurrencesOf(world: SqlWorld, election = world.election, retentionMs = RETENTION_MS): SqlOccurrenceStore {
  return world.store().occurrences(election, { retentionMs });
}

/** Makes one attempt in a process without memory, by the database's clock. */
async function tryCold(world: SqlWorld, occurrence = TICK): Promise<unknown> {
  const elector = new Elector({ store: occurrencesOf(world), election: occurrence, candidateId: "cold" });
  return await elector.tryRun(({ term }) => term);
}

/** Returns the milliseconds until the row may be deleted. */
async function keptForMs(world: SqlWorld): Promise<number> {
  const leftMs = {
    sqlite: "expires_at - unixepoch('subsec') * 1000",
    mysql: "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at) / 1000",
    postgres: "EXTRACT(EPOCH FROM expires_at - clock_timestamp()) * 1000",
  }[world.kind];
  const [row] = await world.run(`SELECT ${leftMs} AS left_ms FROM leasehold_occurrences WHERE election = ?`, [world.name()]);
  return Number(row?.["left_ms"]);
}

/** The statement that the README tells operators to schedule. */
const DELETE: Readonly<Record<Kind, string>> = {
  sqlite: "DELETE FROM leasehold_occurrences WHERE expires_at < unixepoch() * 1000",
  mysql: "DELETE FROM leasehold_occurrences WHERE expires_at < UTC_TIMESTAMP()",
  postgres: "DELETE FROM leasehold_occurrences WHERE expires_at < now()",
};

async function expire(world: SqlWorld, occurrence: string): Promise<void> {
  const past = { sqlite: "1", mysql: "'2001-01-01'", postgres: "'2001-01-01'" }[world.kind];
  await world.run(`UPDATE leasehold_occurrences SET expires_at = ${past} WHERE election = ? AND occurrence = ?`, [
    world.name(),
    world.name(occurrence),
  ]);
}

await describeDatabases(ALL, (test, kind) => {
  describe("an occurrence", () => {
    test("is listed with others of its schedule, by the beginning of its name", async ({ world }) => {
      const first = occurrencesOf(world);
      const claim = await world.win(first, { election: TICK });
      await first.complete(claim, LIMITS);
      await world.win(first, { election: NEXT });
      await world.win(occurrencesOf(world, `${world.election}-other`), { election: TICK });
      const namesOf = async (prefix: string): Promise<readonly string[]> => {
        const names: string[] = [];
        for await (const { election } of occurrencesOf(world).list(prefix)) names.push(election);
        return names;
      };
      expect(await namesOf("nightly@")).toEqual([TICK, NEXT]);
      expect(await namesOf(NEXT.slice(0, -4))).toEqual([NEXT]);
      expect(await namesOf("")).toEqual([TICK, NEXT]);
    });

    test("whose row is not a record is foreign, and is not changed", async ({ world }) => {
      await world.win(occurrencesOf(world), { election: TICK });
      await world.run("UPDATE leasehold_occurrences SET done = 2 WHERE election = ?", [world.name()]);
      const before = await world.occurrenceRow(TICK);
      const error = await failureOf(tryCold(world));
      expect(error).toMatchObject({ code: "FOREIGN_RECORD", election: TICK });
      expect(await world.occurrenceRow(TICK)).toEqual(before);
    });
  });

  describe("an occurrence is kept", () => {
    test("for the retention after every write, renewals and breaks too", async ({ world }) => {
      const occurrences = occurrencesOf(world);
      const after = async (write: () => Promise<unknown>): Promise<void> => {
        await expire(world, TICK);
        const beganMs = performance.now();
        await write();
        const leftMs = await keptForMs(world);
        // SQLite's clock has whole milliseconds.
        expect(leftMs).toBeGreaterThan(RETENTION_MS - (performance.now() - beganMs) - 2);
        expect(leftMs).toBeLessThanOrEqual(RETENTION_MS + 2);
      };
      let claim = await world.win(occurrences, { election: TICK });
      await after(() => occurrences.renew(claim, LIMITS));
      await after(() => occurrences.publish(claim, "v", LIMITS));
      await after(() => occurrences.transfer(TICK, "b", { signal: AbortSignal.timeout(2_000) }).catch(() => undefined));
      await after(() => occurrences.release(claim, LIMITS));
      await after(async () => (claim = await world.win(occurrences, { election: TICK, candidateId: "b" })));
      await after(() => occurrences.break(TICK, { reason: "r" }));
      await after(() => occurrences.complete(claim, LIMITS));
    });

    test("for the retention from its first claim on, however short or long", async ({ world }) => {
      const keptMs = {
        // SQLite takes the time of day from the host's wall clock, as the writer does. Ages come from another clock.
        sqlite: "expires_at - nonce_wall_ms",
        mysql: "TIMESTAMPDIFF(MICROSECOND, nonce_at, expires_at) / 1000",
        // PostgreSQL rounds to the microsecond.
        postgres: "EXTRACT(EPOCH FROM expires_at - nonce_at) * 1000 + 0.0005",
      }[kind];
      for (const retentionMs of [1, 1.0001, 60_000.001, 2_147_483_647]) {
        const election = `${world.election} ${retentionMs}`;
        await world.win(occurrencesOf(world, election, retentionMs), { election: TICK });
        const sql = `SELECT ${keptMs} AS kept_ms FROM leasehold_occurrences WHERE election = ?`;
        const [row] = await world.run(sql, [world.name(election)]);
        expect(Number(row?.["kept_ms"])).toBeGreaterThanOrEqual(retentionMs);
        expect(Number(row?.["kept_ms"])).toBeLessThanOrEqual(retentionMs + 1_000);
      }
    });

    test("until the operator's statement deletes it, which deletes only expired ones", async ({ world }) => {
      const page = await readFile(new URL("../occurrences.md", import.meta.url), "utf8");
      expect(page).toContain(`${DELETE[kind]};`);

      const occurrences = occurrencesOf(world);
      for (const election of [TICK, NEXT]) {
        await occurrences.complete(await world.win(occurrences, { election }), LIMITS);
      }
      await world.run(DELETE[kind]);
      await expect(tryCold(world)).resolves.toMatchObject({ elected: false });
      await expire(world, TICK);
      await world.run(DELETE[kind]);

      expect(await world.occurrenceRow(TICK)).toBeUndefined();
      await expect(tryCold(world, NEXT)).resolves.toMatchObject({ elected: false });
      // The store no longer knows that the occurrence was done.
      await expect(tryCold(world)).resolves.toMatchObject({ elected: true, term: 1 });
      await expect(occurrences.acquire(world.acquiring({ election: TICK }))).resolves.toMatchObject({ acquired: false });
    });
  });

  test("occurrences can be completed, and are not pushed; elections cannot be", async ({ world }) => {
    const store = world.store();
    const { capabilities, watch, name } = store.occurrences(world.election, { retentionMs: 1 });
    expect(name).toBe(kind);
    expect(watch).toBeUndefined();
    expect(capabilities).toMatchObject({ watch: "poll", fence: kind === "sqlite" ? "none" : "atomic" });
    expect(capabilities.storeClock).toEqual(store.capabilities.storeClock);
    expect(store).not.toHaveProperty("complete");
  });

  test("an election without a name, or an invalid retention, is refused before anything is sent", ({ world }) => {
    // No server answers at these places.
    const store: SqlLeaseStore = world.store(kind === "sqlite" ? "/nowhere/at/all.db" : `${kind}://nowhere.invalid/x`);
    for (const election of ["", "a\0b", "\ud800", "é".repeat(128), 5]) {
      expect(() => store.occurrences(election as string, { retentionMs: 5 })).toThrow(/election/);
    }
    for (const retentionMs of [0, -1, Number.NaN, Infinity, 2_147_483_648, "5; DROP TABLE x", undefined]) {
      expect(() => store.occurrences("a", { retentionMs: retentionMs as number })).toThrow(/retentionMs/);
    }
  });
});
