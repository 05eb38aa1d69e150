import { rm, symlink } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { LeaseRecord } from "@leasehold/core/provider";
import { SqlLeaseStore } from "@leasehold/sql";
import { describe, expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { ALL, describeDatabases, recordOf } from "./sql-world.ts";

const { signal } = new AbortController();

await describeDatabases(ALL, (test) => {
  test("a fence whose row is gone is made again for the next leader", async ({ world }) => {
    const store = world.store();
    await store.release(await world.win(store), LIMITS);
    await world.run("DELETE FROM leasehold_fences WHERE election = ?", [world.name()]);

    // The second try succeeds, if the first one only makes the row.
    const next = world.store();
    let outcome = await next.acquire(world.acquiring());
    if (!outcome.acquired) outcome = await next.acquire(world.acquiring());

    expect(outcome).toMatchObject({ acquired: true, lease: { term: 2 } });
    expect(await world.fenceRow()).toMatchObject({ term: 2, term_id: outcome.acquired ? outcome.lease.termId : "" });
  });

  test("a lease whose row is gone is read with the term that its fence remembers", async ({ world }) => {
    const store = world.store();
    await store.release(await world.win(store), LIMITS);
    await world.win(store);
    await world.run("DELETE FROM leasehold_leases WHERE election = ?", [world.name()]);
    await expect(world.rows().get(world.election, { consistent: true, signal })).resolves.toMatchObject({
      data: undefined,
      lostTerm: 2,
    });
  });

  test("the check returns the fence's term, which is ahead of a record that was restored", async ({ world }) => {
    const store = world.store();
    expect((await store.check({ election: world.election })).fenceTerm).toBe(undefined);
    await store.release(await world.win(store), LIMITS);
    expect((await store.check({ election: world.election })).fenceTerm).toBe(1);
    await world.run("UPDATE leasehold_fences SET term = 5 WHERE election = ?", [world.name()]);
    expect((await world.store().check({ election: world.election })).fenceTerm).toBe(5);
  });

  describe("a fence that is ahead of the lease, which was restored or is another one", () => {
    test("blocks every candidate with an error, and does not change, until minTerm sets a later term", async ({ world }) => {
      const store = world.store();
      await store.release(await world.win(store), LIMITS);
      await world.run("UPDATE leasehold_fences SET term = 5, term_id = 'somebody' WHERE election = ?", [world.name()]);
      const before = await world.leaseRow();

      for (let tries = 0; tries < 2; tries += 1) {
        await expect(world.store().acquire(world.acquiring())).rejects.toMatchObject({
          code: "TERM_REGRESSED",
          foundTerm: 1,
          highestTermSeen: 5,
          message: expect.stringContaining("its row in leasehold_fences has seen term 5"),
        });
      }
      expect(await world.leaseRow()).toEqual(before);
      expect(await world.fenceRow()).toMatchObject({ term: 5, term_id: "somebody" });

      await expect(world.store().acquire(world.acquiring({ minTerm: 6 }))).resolves.toMatchObject({ lease: { term: 6 } });
      expect(await world.fenceRow()).toMatchObject({ term: 6 });
    });
  });
});

await describeDatabases(ALL, (test) => {
  test("a quorum's record replaces any fence, also one of a later term, because a loser may have written that", async ({
    world,
  }) => {
    const { records } = world.store();
    const of = (term: number): LeaseRecord => recordOf({ schema: 4, term, termId: `of ${term}`, quorum: "{}" });
    let version: string | undefined;
    for (const term of [1, Number.MAX_SAFE_INTEGER, 2]) {
      const fence = { term, termId: `of ${term}` };
      const outcome = await records.put(world.election, of(term), { ifVersion: version, keepsNonce: false, fence, signal });
      expect(outcome).toMatchObject({ stored: true });
      if (outcome.stored) ({ version } = outcome);
      expect(await world.fenceRow()).toMatchObject({ term, term_id: `of ${term}` });
    }
    const late = { ifVersion: "another", keepsNonce: false, fence: { term: 3, termId: "late" }, signal };
    expect(await records.put(world.election, of(3), late)).toMatchObject({ stored: false });
    expect(await world.fenceRow()).toMatchObject({ term: 2, term_id: "of 2" });
  });
});

await describeDatabases(["sqlite"], (test) => {
  test("a file has one lease, also if it is opened by several names", async ({ world }) => {
    const store = world.store();
    await world.win(store);
    const other = `${world.place}-other-name`;
    await symlink(world.place, other);
    world.onEnd(() => rm(other, { force: true }));

    const outcome = await world.store(other).acquire(world.acquiring({ candidateId: "b" }));
    expect(outcome).toMatchObject({ acquired: false, current: { holder: "a" } });
  });

  test("after leases were deleted and their fences kept, the next term is above the fence, after one lease", async ({
    world,
  }) => {
    const store = world.store();
    await world.win(store);
    await rm(`${world.place}-leasehold`);

    await expect(world.store().acquire(world.acquiring())).resolves.toMatchObject({
      acquired: false,
      current: { term: 1, bar: { kind: "hold" } },
    });
    await expect(world.store().repair(world.election, { leaseDurationMs: 15_000 })).resolves.toMatchObject({ minTerm: 1_001 });
    expect(await world.leaseRow()).toMatchObject({ term: 1_000 });
  });
});

await describeDatabases(["postgres"], (test) => {
  test("a leader that guards transactions without a pause does not keep an administrator from the fence", async ({ world }) => {
    const store = world.store();
    const lease = await world.win(store);
    const write = async (): Promise<void> => {
      const session = await world.session();
      for (let passes = true; passes;) {
        await session.run("BEGIN");
        passes = await store.fence(lease, session.connection).then(
          () => true,
          () => false,
        );
        await delay(75);
        await session.run("COMMIT");
      }
    };
    const writers = Array.from({ length: 8 }, (_, index) => delay(index * 10).then(write));
    await delay(300);

    await expect(world.store().break(world.election, { reason: "runaway", timeoutMs: 5_000 })).resolves.toEqual({
      broken: true,
      term: 1,
    });
    await Promise.all(writers);
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "broken" });
  });

  test("a store that waits for an answer to LISTEN can be closed all the same", async ({ world }) => {
    const { proxy, url } = await world.network();
    const store = new SqlLeaseStore({ postgres: url });
    await store.read(world.election);
    proxy.loseReplies();
    const watching = new AbortController();
    const watch = store.watch!(world.election, { signal: watching.signal })[Symbol.asyncIterator]().next();
    await proxy.waitForReplies();

    await expect(store.close()).resolves.toBeUndefined();
    await expect(watch).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });
});
