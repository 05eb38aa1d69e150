import { Elector } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import { describe, expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { ALL, describeDatabases, SERVERS, type SqlWorld } from "./sql-world.ts";

/** Returns a store, and the statements that it sends. */
function counting(world: SqlWorld) {
  const sent: string[] = [];
  const note = (statement: unknown): void => {
    const { text, sql } = statement as { readonly text?: string; readonly sql?: string };
    // MariaDB's limit for a statement precedes it, in a comment.
    const command = (text ?? sql ?? String(statement)).replace(/^\/\*.*?\*\//, "");
    sent.push(command.trim().split(/\s/, 1)[0] ?? "");
  };
  let pool: unknown;
  if (world.kind === "postgres") {
    const own = new Pool({ connectionString: world.place });
    world.onEnd(() => own.end());
    own.on("connect", (client) => {
      const query = client.query.bind(client) as (...given: unknown[]) => unknown;
      Object.assign(client, {
        query: (...given: unknown[]): unknown => {
          note(given[0]);
          return query(...given);
        },
      });
    });
    pool = own;
  } else {
    const own = createPool({ uri: world.place });
    world.onEnd(() => own.end());
    pool = {
      end: async () => own.end(),
      getConnection: async () => {
        const connection = await own.getConnection();
        return {
          threadId: connection.threadId,
          query: async (statement: { readonly sql: string }) => {
            note(statement);
            return await connection.query(statement);
          },
          release: () => connection.release(),
          destroy: () => connection.destroy(),
        };
      },
    };
  }
  const store = world.store(pool);
  const during = async (act: () => Promise<unknown>): Promise<string[]> => {
    const before = sent.length;
    await act();
    return sent.slice(before);
  };
  return { store, during };
}

await describeDatabases(SERVERS, (test, kind) => {
  test("each operation sends the documented number of statements", async ({ world }) => {
    const { store, during } = counting(world);
    const update = kind === "mysql" ? "UPDATE" : "WITH";
    const first = await during(() => store.acquire(world.acquiring()));
    // The first read finds no lease, and no fence that remembers a term. Then the keys are checked, and the rows are made.
    expect(first.slice(0, 2)).toEqual(["SELECT", "SELECT"]);
    expect(first.slice(2)).toEqual(kind === "mysql" ? ["SELECT", "INSERT", "INSERT", "UPDATE"] : ["SELECT", "WITH", "WITH"]);
    const lease = await world.win(world.store(), { election: "unused" });
    expect(lease.term).toBe(1);
    await store.break(world.election, { reason: "r", immediate: true });

    const held = world.acquiring();
    const taken: { lease?: Lease } = {};
    expect(
      await during(async () => {
        const outcome = await store.acquire(held);
        if (outcome.acquired) taken.lease = outcome.lease;
      }),
    ).toEqual([update]);
    const mine = taken.lease ?? expect.fail("It should have been acquired.");
    expect(await during(() => store.renew(mine, LIMITS))).toEqual([update]);
    expect(await during(() => store.publish(mine, "value", LIMITS))).toEqual([update]);
    expect(await during(() => store.read(world.election))).toEqual(["SELECT"]);
    expect(await during(() => store.release(mine, LIMITS))).toEqual([update]);
  });

  test("a claim of an occurrence sends the documented number of statements", async ({ world }) => {
    const { store, during } = counting(world);
    const occurrences = store.occurrences(world.election, { retentionMs: 60_000 });
    const claim = async () => world.win(occurrences, { election: "tick" });
    const claimed: { lease?: Lease } = {};
    const [insert, update] = kind === "mysql" ? ["INSERT", "UPDATE"] : ["WITH", "WITH"];
    // The first claim of a store checks the keys.
    expect(await during(async () => (claimed.lease = await claim()))).toEqual(["SELECT", "SELECT", insert, update]);
    const lease = claimed.lease ?? expect.fail("It should have been claimed.");
    expect(await during(() => occurrences.renew(lease, LIMITS))).toEqual([update]);
    expect(await during(() => occurrences.complete(lease, LIMITS))).toEqual([update]);
  });

  test("a standby's poll is one statement, and writes nothing", async ({ world }) => {
    await world.win(world.store());
    const { store, during } = counting(world);
    await store.read(world.election);
    for (let looks = 0; looks < 3; looks += 1) expect(await during(() => store.read(world.election))).toEqual(["SELECT"]);
    // A lease that is known to be held needs no request.
    expect(await during(() => store.acquire(world.acquiring()))).toEqual([]);
  });
});

await describeDatabases(ALL, (test) => {
  describe("the MySQL way of electing", () => {
    test("insert or take over: acquire", async ({ world }) => {
      const store = world.store();
      await expect(store.acquire(world.acquiring())).resolves.toMatchObject({ acquired: true, lease: { term: 1 } });
      await expect(world.store().acquire(world.acquiring({ candidateId: "b" }))).resolves.toMatchObject({ acquired: false });
      await world.run("UPDATE leasehold_leases SET lease_duration_ms = 1 WHERE election = ?", [world.name()]);
      const rival = world.store();
      await rival.read(world.election, { expiry: "store-clock" });
      await expect(rival.acquire(world.acquiring({ candidateId: "b", expiry: "store-clock" }))).resolves.toMatchObject({
        acquired: true,
        lease: { term: 2 },
      });
    });

    test("am I leader: renew, or elector.isLeader", async ({ world }) => {
      const store = world.store();
      const lease = await world.win(store);
      await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
      await world.store().break(world.election, { reason: "r", immediate: true });
      await world.win(world.store(), { candidateId: "b" });
      await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "taken" });

      const elector = new Elector({ store, election: `${world.election} 2` });
      expect(elector.isLeader).toBe(false);
      const leadership = await elector.campaign();
      expect(elector.isLeader).toBe(true);
      await leadership[Symbol.asyncDispose]();
      expect(elector.isLeader).toBe(false);
    });

    test("who leads: read", async ({ world }) => {
      await expect(world.store().read(world.election)).resolves.toBeUndefined();
      const store = world.store();
      const lease = await world.win(store, { value: "https://a" });
      const look = async () => world.store().read(world.election, { expiry: "store-clock" });
      await expect(look()).resolves.toMatchObject({ state: "held", holder: "a", value: "https://a", term: 1 });
      await store.release(lease, LIMITS);
      await expect(look()).resolves.toMatchObject({ state: "vacant", term: 1 });
    });

    test("forced takeover: break at once, and acquire", async ({ world }) => {
      const store = world.store();
      const lease = await world.win(store);
      const usurper = world.store();
      await expect(usurper.break(world.election, { reason: "forced takeover", ifTerm: 1, immediate: true })).resolves.toEqual({
        broken: true,
        term: 1,
      });
      await expect(world.win(usurper, { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
      await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: false });
      // A mistaken second break does not end the successor's term.
      await expect(usurper.break(world.election, { reason: "again", ifTerm: 1, immediate: true })).resolves.toMatchObject({
        broken: false,
      });
    });

    test("forced re-election: break, and the first candidate after the lease has run out", async ({ world }) => {
      const store = world.store();
      const lease = await world.win(store);
      await expect(world.store().break(world.election, { reason: "forced re-election" })).resolves.toMatchObject({
        broken: true,
      });
      await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "broken" });
      const rival = world.store();
      await rival.read(world.election, { expiry: "store-clock" });
      const request = world.acquiring({ candidateId: "b", expiry: "store-clock" });
      await expect(rival.acquire(request)).resolves.toMatchObject({ acquired: false, current: { state: "ending" } });
      await expect(store.release(lease, LIMITS)).resolves.toBe("released");
      await rival.read(world.election);
      await expect(rival.acquire(request)).resolves.toMatchObject({ lease: { term: 2 } });
    });
  });
});
