import { randomUUID } from "node:crypto";
import { FencedError, UnsupportedError } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import type { SqlOccurrenceStore } from "@leasehold/sql";
import { describe, expect } from "vitest";
import { LEASE_MS, LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { HELD_OFF_ERROR } from "./fencing.ts";
import { describeDatabases, SERVERS, type Session, type SqlWorld } from "./sql-world.ts";

/** A unique name, because an election has this name too. */
const TICK = `nightly@${randomUUID()}T10:00:00.000Z`;
/** Long enough, on a busy machine, for the read before a break, which the fence does not hold off. */
const SHORT = { timeoutMs: 1_500 };

interface Claimed {
  readonly occurrences: SqlOccurrenceStore;
  readonly claim: Lease;
}

function occurrencesOf(world: SqlWorld): SqlOccurrenceStore {
  return world.store().occurrences(world.election, { retentionMs: 60_000 });
}

async function claimed(world: SqlWorld, leaseDurationMs = LEASE_MS): Promise<Claimed> {
  const occurrences = occurrencesOf(world);
  return { occurrences, claim: await world.win(occurrences, { election: TICK, leaseDurationMs }) };
}

/** Returns a transaction that has passed the fence and is still open. */
async function guarding(world: SqlWorld, { occurrences, claim }: Claimed): Promise<Session> {
  const session = await world.session();
  await session.run("BEGIN");
  await occurrences.fence(claim, session.connection);
  return session;
}

/** Checks the fence in a transaction of its own. Returns its error, or nothing. */
async function pass(world: SqlWorld, occurrences: SqlOccurrenceStore, claim: Lease): Promise<unknown> {
  const session = await world.session();
  await session.run("BEGIN");
  const error: unknown = await occurrences.fence(claim, session.connection).catch((reason: unknown) => reason);
  await session.rollback();
  return error;
}

await describeDatabases(SERVERS, (test, kind) => {
  describe("is refused", () => {
    const ENDS: Readonly<Record<string, (world: SqlWorld, claimed: Claimed) => Promise<unknown>>> = {
      "after a release": async (_, { occurrences, claim }) => occurrences.release(claim, LIMITS),
      "once it is done": async (_, { occurrences, claim }) => occurrences.complete(claim, LIMITS),
      "after a break": async (world) => occurrencesOf(world).break(TICK, { reason: "" }),
      "after an immediate break": async (world) => occurrencesOf(world).break(TICK, { reason: "r", immediate: true }),
      "after its row has gone": async (world) =>
        world.run("DELETE FROM leasehold_occurrences WHERE election = ?", [world.name()]),
    };

    test.for(Object.entries(ENDS))("%s", async ([, end], { world }) => {
      const before = await claimed(world);
      await end(world, before);
      const error = await pass(world, before.occurrences, before.claim);
      expect(error).toBeInstanceOf(FencedError);
      expect(error).toMatchObject({ code: "FENCED", election: TICK, term: 1 });
    });

    test("after the next attempt has begun, which then passes", async ({ world }) => {
      const { occurrences, claim } = await claimed(world);
      await occurrencesOf(world).break(TICK, { reason: "r", immediate: true });
      const next = await world.win(occurrencesOf(world), { election: TICK, candidateId: "b" });
      expect(await pass(world, occurrences, claim)).toMatchObject({ code: "FENCED", term: 1, currentTerm: 2 });
      expect(await pass(world, occurrences, next)).toBeUndefined();
    });

    test("with another termId, term or occurrence, or the leadership of an election of that name", async ({ world }) => {
      const { occurrences, claim } = await claimed(world);
      for (const other of [
        { termId: `${claim.termId} ` },
        { termId: claim.termId.toUpperCase() },
        { term: 2 },
        { election: `${TICK} ` },
        { election: TICK.toLowerCase() },
      ]) {
        expect(await pass(world, occurrences, { ...claim, ...other })).toBeInstanceOf(FencedError);
      }
      const lease = await world.win(world.store(), { election: TICK });
      expect(await pass(world, occurrences, lease)).toBeInstanceOf(FencedError);
      const elsewhere = world.store().occurrences(`${world.election} `, { retentionMs: 60_000 });
      expect(await pass(world, elsewhere, claim)).toBeInstanceOf(FencedError);
    });

    test("outside a transaction, because it would lock nothing", async ({ world }) => {
      const { occurrences, claim } = await claimed(world);
      const session = await world.session();
      const error = await failureOf(occurrences.fence(claim, session.connection));
      expect(error).toBeInstanceOf(UnsupportedError);
      expect(error.message).toContain("leasehold_occurrences");
      await expect(occurrences.fence(claim, {} as never)).rejects.toMatchObject({ code: "CONFIGURATION" });
    });
  });

  describe("until the transaction has ended, it holds off", () => {
    const HELD_OFF: Readonly<Record<string, (world: SqlWorld, claimed: Claimed) => Promise<unknown>>> = {
      "a release": async (_, { occurrences, claim }) => occurrences.complete(claim, SHORT),
      "a renewal": async (_, { occurrences, claim }) => occurrences.renew(claim, SHORT),
      "a break": async (world) => occurrencesOf(world).break(TICK, { reason: "r", ...SHORT }),
      "the next attempt": async (world) => {
        const rival = occurrencesOf(world);
        await rival.read(TICK, { expiry: "store-clock" });
        const request = world.acquiring({ election: TICK, candidateId: "b", expiry: "store-clock", ...SHORT });
        return await rival.acquire(request);
      },
    };

    test.for(Object.entries(HELD_OFF))("%s, which is then not carried out late", async ([, attempt], { world }) => {
      // The claim runs out soon, and its claimant still has a transaction open.
      const before = await claimed(world, 1_000);
      const session = await guarding(world, before);
      const state = async () => (await occurrencesOf(world).read(TICK, { expiry: "store-clock" }))?.state;
      await expect.poll(state).toBe("expired");
      await expect(attempt(world, before)).rejects.toMatchObject(HELD_OFF_ERROR);
      await expect.poll(() => world.busy()).toEqual([]);
      const { version } = (await world.occurrenceRow(TICK)) ?? {};
      // Reads do not wait for the fence, nor do other occurrences.
      await expect(occurrencesOf(world).read(TICK)).resolves.toMatchObject({ term: 1 });
      await world.win(occurrencesOf(world), { election: "another" });
      await session.run("COMMIT");
      expect(await world.occurrenceRow(TICK)).toMatchObject({ term: 1, version, term_id: before.claim.termId });
    });
  });

  test.for(["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])(
    "a transaction that is %s and began before the claim ended does not pass after it",
    async (level, { world }) => {
      const { occurrences, claim } = await claimed(world);
      const session = await world.session();
      const scope = kind === "mysql" ? "SESSION" : "SESSION CHARACTERISTICS AS";
      await session.run(`SET ${scope} TRANSACTION ISOLATION LEVEL ${level}`);
      await session.run("BEGIN");
      // The transaction's snapshot of all tables begins here.
      await session.run("SELECT COUNT(*) FROM leasehold_leases WHERE election = 'x'");
      await occurrences.release(claim, LIMITS);
      const error = await failureOf(occurrences.fence(claim, session.connection));
      // PostgreSQL ends such a transaction itself; either way the caller rolls back.
      expect(error["code"]).toBe(kind === "postgres" && level !== "READ COMMITTED" ? "40001" : "FENCED");
      await session.rollback();
    },
  );
});

await describeDatabases(["sqlite"], (test) => {
  test("SQLite has the occurrences in another file than the data, and says so", async ({ world }) => {
    const { occurrences, claim } = await claimed(world);
    const session = await world.session();
    await session.run("BEGIN");
    const error = await failureOf(occurrences.fence(claim, session.connection));
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error).toMatchObject({ code: "UNSUPPORTED", election: TICK });
    await session.rollback();
  });
});
