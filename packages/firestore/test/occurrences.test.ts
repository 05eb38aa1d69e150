import { Timestamp, type Firestore } from "@google-cloud/firestore";
import { ConfigurationError } from "@leasehold/core";
import type { AcquireRequest, LeaseRecord } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import type { FirestoreLeaseStoreOptions, FirestoreOccurrenceStore } from "@leasehold/firestore";
import { describe, expect } from "vitest";
import { FirestoreClock } from "../src/clock.ts";
import { FirestoreRecordStore } from "../src/firestore-record-store.ts";
import { Paths } from "../src/paths.ts";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { FENCE_PATH, LEASE_PATH, type FirestoreWorld } from "./firestore-world.ts";
import { test } from "./world-test.ts";

const TICK = `${ELECTION}@2026-11-20T10:00:00.000Z`;
const TICK_PATH = `${LEASE_PATH}/ticks/${encodeURIComponent(TICK)}`;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const KEPT = { retentionMs: DAY_MS };

/** Returns the occurrences in a process that has just started. */
function occurrences(world: FirestoreWorld, options: Partial<FirestoreLeaseStoreOptions> = {}): FirestoreOccurrenceStore {
  return world.store(options).occurrences(ELECTION, KEPT);
}

function claiming(options: Partial<AcquireRequest> = {}): AcquireRequest {
  return acquiring({ election: TICK, ...options });
}

/** Returns how long an occurrence's document is kept after its last write, in milliseconds. */
async function keptForMs(world: FirestoreWorld, path: string = TICK_PATH): Promise<number> {
  return await world.aside(async (firestore) => {
    const document = await firestore.doc(path).get();
    return (document.get("expiresAt") as Timestamp).toMillis() - document.updateTime!.toMillis();
  });
}

describe("an occurrence", () => {
  test("is a document below its election, with its own fields and no other document", async ({ world }) => {
    const store = occurrences(world);
    const lease = await win(store, claiming());

    await expect(world.fieldsAt(TICK_PATH)).resolves.toEqual({
      schema: 3,
      term: 1,
      termId: lease.termId,
      candidateId: "a",
      nonce: expect.any(String),
      leaseDurationMs: LEASE_MS,
      renewIntervalMs: 5_000,
      history: expect.any(String),
      expiresAt: expect.any(Timestamp),
    });
    await expect(world.fieldsAt(LEASE_PATH)).resolves.toBeUndefined();
    await store.complete(lease, LIMITS);
    await expect(world.fieldsAt(TICK_PATH)).resolves.toMatchObject({ done: true, termId: null });
    expect(world.commits.map(({ writes }) => writes.length)).toEqual([1, 1]);
  });

  test("takes a read and a write to claim, a write to renew, and one to complete", async ({ world }) => {
    const store = occurrences(world);
    const methods = await world.methodsDuring(async () => {
      const lease = await win(store, claiming());
      await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
      await expect(store.complete(lease, LIMITS)).resolves.toBe("released");
    });
    expect(methods).toEqual(["BatchGetDocuments", "Commit", "Commit", "Commit"]);
  });

  test("is not pushed, and stores an administrator's orders", async ({ world }) => {
    const store = occurrences(world);
    expect(store.watch).toBeUndefined();
    expect(store.capabilities).toMatchObject({
      watch: "poll",
      fence: "atomic",
      storeClock: { toleranceMs: 0, exact: true },
      reservation: { toleranceMs: 0 },
    });
    await win(store, claiming());
    await expect(occurrences(world).break(TICK, { reason: "test" })).resolves.toEqual({ broken: true, term: 1 });
    await expect(occurrences(world).read(TICK)).resolves.toMatchObject({ state: "ending", endingReason: "test" });
  });

  test("whose document is not an occurrence is an error that names it, and is not changed", async ({ world }) => {
    await world.aside((firestore) => firestore.doc(TICK_PATH).set({ name: "Ada" }));
    await expect(world.witness.failureOf(occurrences(world).acquire(claiming()))).resolves.toMatchObject({
      code: "FOREIGN_RECORD",
    });
    await expect(world.fieldsAt(TICK_PATH)).resolves.toEqual({ name: "Ada" });
  });
});

describe("the names", () => {
  const names = [".", "..", "__x__", "a/b", "a/ticks/b", "100%", "%2E", "🔧 Wahl", "\u{e9}", "e\u{301}", "/".repeat(255)];

  test("of any kind give different documents to different elections and occurrences", async ({ world }) => {
    const firestore = world.client();
    const store = world.store({ firestore });
    for (const schedule of names) {
      const ticks = store.occurrences(schedule, KEPT);
      for (const election of names) {
        const lease = await win(ticks, { election });
        expect(lease.term).toBe(1);
        await firestore.runTransaction((transaction) => ticks.fence(lease, transaction));
      }
    }
    const documents = world.commits.flatMap(({ writes }) => writes.map(({ update }) => update.name));
    expect(new Set(documents).size).toBe(names.length ** 2);
  });

  test("of one occurrence in two elections or collections give different documents, and so do those of elections", async ({
    world,
  }) => {
    const stores = [
      occurrences(world),
      world.store().occurrences("another", KEPT),
      occurrences(world, { collection: "apps/billing/leases" }),
      world.store(),
    ];
    for (const store of stores) await expect(win(store, claiming())).resolves.toMatchObject({ term: 1 });
    await expect(win(stores[3]!)).resolves.toMatchObject({ term: 1 });
  });

  test.for(["", "a\nb", "\u{d800}", 5, null])(
    "%j is invalid for an election, and refused before any request",
    async (name, { world }) => {
      const store = world.store();
      expect(() => store.occurrences(name as string, KEPT)).toThrow(ConfigurationError);
      expect(() => store.occurrences(name as string, KEPT)).toThrow(/^election /u);
      expect(world.calls).toEqual([]);
    },
  );
});

test.for([0, -1, NaN, Infinity, "1", undefined, 2 ** 31])("a retention of %s is refused at once", (retentionMs, { world }) => {
  const store = world.store();
  expect(() => store.occurrences(ELECTION, { retentionMs: retentionMs as number })).toThrow(ConfigurationError);
  expect(() => store.occurrences(ELECTION, { retentionMs: retentionMs as number })).toThrow(/^retentionMs /u);
});

describe("the expiry of an occurrence's document", () => {
  /** The documented extra time, and little more. */
  async function expectKeptFor(world: FirestoreWorld, ms: number): Promise<void> {
    const keptMs = await keptForMs(world);
    expect(keptMs).toBeGreaterThanOrEqual(ms);
    expect(keptMs).toBeLessThan(ms + 2 * HOUR_MS);
  }

  test("is set by every write, at least the retention after it by Firestore's clock", async ({ world }) => {
    const clock = world.clock();
    const store = occurrences(world, { clock });
    const pass = (ms: number): void => {
      clock.freeze(ms);
      world.moveServerClock(ms);
    };
    const lease = await win(store, claiming());
    await expectKeptFor(world, DAY_MS);
    for (const write of [
      () => store.renew(lease, LIMITS),
      () => store.publish(lease, "value", LIMITS),
      () => occurrences(world).break(TICK, { reason: "test" }),
      () => store.complete(lease, LIMITS),
    ]) {
      pass(5_000);
      await write();
      await expectKeptFor(world, DAY_MS);
    }
    const methods = world.calls.filter(({ method }) => method === "BatchGetDocuments");
    // The reads of the claim and of the break, and that of the release that conflicted with the break.
    expect(methods).toHaveLength(3);
  });

  test("does not depend on the time that the process's clocks show", async ({ world }) => {
    const clock = world.clock();
    clock.jumpWall(-400 * DAY_MS);
    await win(occurrences(world, { clock }), claiming());
    await expectKeptFor(world, DAY_MS);
  });

  test("includes the time since the last reply, also while this process was asleep", async ({ world }) => {
    const clock = world.clock();
    const store = occurrences(world, { clock });
    const lease = await win(store, claiming({ leaseDurationMs: 3 * DAY_MS }));
    clock.freeze(HOUR_MS);
    clock.suspend(5 * HOUR_MS);
    world.moveServerClock(6 * HOUR_MS);
    await store.renew(lease, LIMITS);
    await expectKeptFor(world, DAY_MS);
  });

  test("is late enough even if this process's clock is a tenth slow and its commit takes long", async ({ world }) => {
    const clock = world.clock();
    const store = occurrences(world, { clock });
    const lease = await win(store, claiming({ leaseDurationMs: 20 * DAY_MS }));
    clock.freeze(10 * DAY_MS);
    world.moveServerClock(11 * DAY_MS);
    const held = world.holdOnce("Commit");
    const renewal = store.renew(lease, LIMITS);
    await held.arrived;
    world.moveServerClock(HOUR_MS / 2);
    await held.letGo();
    await renewal;
    await expect(keptForMs(world)).resolves.toBeGreaterThanOrEqual(DAY_MS);
  });

  test("is known only after a reply with a time, and counts from its request", () => {
    const clock = new VirtualClock();
    const time = new FirestoreClock(clock);
    expect(time.latest()).toBeUndefined();
    const learn = time.asking();
    clock.freeze(501);
    learn(7_000_000_000n);
    // 551.1 ms, rounded up to a whole one.
    expect(time.latest()).toBe(7_552_000_000n);
  });

  test("needs a read first in a record store that has read nothing", async ({ world }) => {
    const records = new FirestoreRecordStore(world.client(), new Paths("leasehold").occurrences(ELECTION), {
      retentionMs: DAY_MS,
      clock: undefined,
    });
    const record: LeaseRecord = {
      schema: 3,
      term: 1,
      termId: "termId",
      candidateId: "a",
      nonce: "nonce",
      leaseDurationMs: LEASE_MS,
      renewIntervalMs: 5_000,
    };
    const options = { ifVersion: undefined, keepsNonce: false, fence: { term: 1, termId: "termId" }, signal: world.ended };
    const methods = await world.methodsDuring(() => records.put(TICK, record, options));
    expect(methods).toEqual(["BatchGetDocuments", "Commit"]);
    await expectKeptFor(world, DAY_MS);
    await expect(records.get(TICK, { signal: world.ended })).resolves.toMatchObject({ data: record });
    expect((await records.get(TICK, { signal: world.ended }))?.data).not.toHaveProperty("expiresAt");
  });

  test("is removed from a lease document, even if it was added by hand", async ({ world }) => {
    const store = world.store();
    await win(store.occurrences(ELECTION, KEPT), claiming());
    const lease = await win(store, { reservation: { group: "west", durationMs: 60_000 } });
    for (const write of [
      () => store.renew(lease, LIMITS),
      () => store.publish(lease, "value", LIMITS),
      () => world.store().break(ELECTION, { reason: "test" }),
      () => store.release(lease, { ...LIMITS, holdMs: 1_000 }),
    ]) {
      await write();
      for (const path of [LEASE_PATH, FENCE_PATH]) expect(await world.fieldsAt(path)).not.toHaveProperty("expiresAt");
    }
    await world.aside((firestore) => firestore.doc(LEASE_PATH).update({ expiresAt: Timestamp.now() }));
    world.moveServerClock(60_000);
    await win(world.store(), { candidateId: "b" });
    expect(await world.fieldsAt(LEASE_PATH)).not.toHaveProperty("expiresAt");
  });
});

describe("a transaction that depends on an occurrence", () => {
  type Claimed = Awaited<ReturnType<typeof win>>;

  async function guardedWrite(store: FirestoreOccurrenceStore, firestore: Firestore, lease: Claimed): Promise<void> {
    await firestore.runTransaction(async (transaction) => {
      await store.fence(lease, transaction);
      transaction.set(firestore.doc("reports/today"), { by: lease.term });
    });
  }

  async function claimant(world: FirestoreWorld, settings: FirebaseFirestore.Settings = {}) {
    const firestore = world.client(settings);
    const store = occurrences(world, { firestore });
    return { firestore, store, lease: await win(store, claiming()) };
  }

  test("is committed, also after a renewal, and for the next attempt", async ({ world }) => {
    const { store, firestore, lease } = await claimant(world);
    await guardedWrite(store, firestore, lease);
    await store.renew(lease, LIMITS);
    await guardedWrite(store, firestore, lease);
    await store.release(lease, LIMITS);
    await guardedWrite(store, firestore, await win(store, claiming()));
    await expect(world.fieldsAt("reports/today")).resolves.toEqual({ by: 2 });
  });

  test("by a client that turns integers into bigints works the same", async ({ world }) => {
    const { store, firestore, lease } = await claimant(world, { useBigInt: true });
    await guardedWrite(store, firestore, lease);
    await expect(world.witness.failureOf(guardedWrite(store, firestore, { ...lease, term: 2 }))).resolves.toMatchObject({
      code: "FENCED",
      currentTerm: 1,
    });
  });

  const ends: Readonly<Record<string, (world: FirestoreWorld, store: FirestoreOccurrenceStore, lease: Claimed) => unknown>> = {
    "it was released": (_, store, lease) => store.release(lease, LIMITS),
    "it is done": (_, store, lease) => store.complete(lease, LIMITS),
    "it was broken": (world) => occurrences(world).break(TICK, { reason: "test" }),
    "it was taken over": async (world) => {
      world.moveServerClock(LEASE_MS + 1);
      await win(occurrences(world), claiming({ candidateId: "b" }));
    },
    "its document has expired": (world) => world.aside((firestore) => firestore.doc(TICK_PATH).delete()),
  };

  test.for(Object.entries(ends))("is refused once %s, and nothing is written", async ([, end], { world }) => {
    const { store, firestore, lease } = await claimant(world);
    await end(world, store, lease);
    const error = await world.witness.failureOf(guardedWrite(store, firestore, lease));
    expect(error).toMatchObject({ code: "FENCED", election: TICK, term: 1 });
    await expect(world.fieldsAt("reports/today")).resolves.toBeUndefined();
  });

  test("is refused for another termId, another occurrence, and the election's own leader", async ({ world }) => {
    const { store, firestore, lease } = await claimant(world);
    const leader = await win(world.store({ firestore }));
    for (const other of [{ ...lease, termId: "another" }, { ...lease, election: `${TICK}2` }, leader]) {
      await expect(world.witness.failureOf(guardedWrite(store, firestore, other))).resolves.toMatchObject({ code: "FENCED" });
    }
    await expect(world.fieldsAt("reports/today")).resolves.toBeUndefined();
  });

  test("is tried again and refused if a takeover comes before its commit", async ({ world }) => {
    const { store, firestore, lease } = await claimant(world);
    const guarded = firestore.runTransaction(async (transaction) => {
      await store.fence(lease, transaction);
      world.moveServerClock(LEASE_MS + 1);
      await win(occurrences(world), claiming({ candidateId: "b" }));
      transaction.set(firestore.doc("reports/today"), { by: "a" });
    });
    await expect(world.witness.failureOf(guarded)).resolves.toMatchObject({ code: "FENCED", term: 1, currentTerm: 2 });
    await expect(world.fieldsAt("reports/today")).resolves.toBeUndefined();
  });

  test("on a document that is not an occurrence is an error that names it", async ({ world }) => {
    const { store, firestore, lease } = await claimant(world);
    await world.aside((client) => client.doc(TICK_PATH).set({ name: "Ada" }));
    const error = await world.witness.failureOf(guardedWrite(store, firestore, lease));
    expect(error).toMatchObject({ code: "FOREIGN_RECORD", election: TICK });
    expect(error.message).toContain(TICK_PATH);
  });
});
