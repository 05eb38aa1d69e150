import { Firestore } from "@google-cloud/firestore";
import { Elector, FencedError } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import { startFirestoreServer } from "@leasehold/test-kit/firestore-server";
import { afterAll, beforeAll, describe, expect, test as plainTest } from "vitest";
import { officialFirestoreMissing, startOfficialFirestore } from "@leasehold/test-kit/backends/official-firestore";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { FENCE_PATH, LEASE_PATH, type FirestoreWorld } from "./firestore-world.ts";
import { test } from "./world-test.ts";

type Fenced = Pick<Lease, "election" | "term" | "termId">;

/** Writes one document in a transaction that depends on the leadership. */
async function guardedWrite(
  store: FirestoreLeaseStore,
  firestore: Firestore,
  leadership: Fenced,
  content: string,
  meanwhile: (attempt: number) => Promise<void> = async () => {},
): Promise<void> {
  let attempts = 0;
  await firestore.runTransaction(async (transaction) => {
    attempts += 1;
    await store.fence(leadership, transaction);
    await meanwhile(attempts);
    transaction.set(firestore.doc("reports/today"), { content });
  });
}

async function leader(world: FirestoreWorld): Promise<{ store: FirestoreLeaseStore; firestore: Firestore; lease: Lease }> {
  const firestore = world.client();
  const store = world.store({ firestore });
  return { firestore, store, lease: await win(store) };
}

describe("a guarded transaction", () => {
  test("of the leader is committed, also after renewals, and in a second term", async ({ world }) => {
    const { store, firestore, lease } = await leader(world);
    await guardedWrite(store, firestore, lease, "1");
    await store.renew(lease, LIMITS);
    await store.publish(lease, "value", LIMITS);
    await guardedWrite(store, firestore, lease, "2");
    await store.release(lease, LIMITS);
    await guardedWrite(store, firestore, await win(store), "3");
    await expect(world.fieldsAt("reports/today")).resolves.toEqual({ content: "3" });
  });

  test("by another store object, or in another process, depends on the same term", async ({ world }) => {
    const { lease } = await leader(world);
    const firestore = world.client();
    await guardedWrite(new FirestoreLeaseStore({ firestore }), firestore, lease, "1");
    await expect(world.fieldsAt("reports/today")).resolves.toEqual({ content: "1" });
  });

  test("by a client that turns integers into bigints works the same, and so does its error", async ({ world }) => {
    const firestore = world.client({ useBigInt: true });
    const store = world.store({ firestore });
    const lease = await win(store);
    await guardedWrite(store, firestore, lease, "1");
    await expect(guardedWrite(store, firestore, { ...lease, termId: "other" }, "2")).rejects.toBeInstanceOf(FencedError);
    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "held", term: 1, holder: "a" });
  });

  const ends: Readonly<Record<string, (world: FirestoreWorld, store: FirestoreLeaseStore, lease: Lease) => Promise<number>>> = {
    release: async (_, store, lease) => {
      await store.release(lease, LIMITS);
      return 1;
    },
    break: async (world) => {
      await world.store().break(ELECTION, { reason: "test" });
      return 1;
    },
    "an immediate break": async (world) => {
      await world.store().break(ELECTION, { reason: "test", immediate: true });
      return 1;
    },
    "a takeover": async (world) => {
      world.moveServerClock(20_000);
      await win(world.store(), { candidateId: "b" });
      return 2;
    },
    "a later term of its own": async (_, store, lease) => {
      await store.release(lease, LIMITS);
      await win(store);
      return 2;
    },
  };

  test.for(Object.entries(ends))("is refused after %s, and nothing is written", async ([, end], { world }) => {
    const { store, firestore, lease } = await leader(world);
    const currentTerm = await end(world, store, lease);

    const error = await world.witness.failureOf(guardedWrite(store, firestore, lease, "too late"));
    expect(error).toBeInstanceOf(FencedError);
    expect(error).toMatchObject({ code: "FENCED", election: ELECTION, term: 1, currentTerm });
    await expect(world.fieldsAt("reports/today")).resolves.toBeUndefined();
  });

  test("with another termId of the same term is refused", async ({ world }) => {
    const { store, firestore, lease } = await leader(world);
    const other = { ...lease, termId: crypto.randomUUID() };
    await expect(world.witness.failureOf(guardedWrite(store, firestore, other, "by another"))).resolves.toMatchObject({
      code: "FENCED",
      term: 1,
      currentTerm: 1,
    });
  });

  test("with the right termId and another term is refused", async ({ world }) => {
    const { store, firestore, lease } = await leader(world);
    await expect(world.witness.failureOf(guardedWrite(store, firestore, { ...lease, term: 2 }, "x"))).resolves.toMatchObject({
      code: "FENCED",
    });
  });

  test("of an election that never had a leader, or whose fence is gone, is refused", async ({ world }) => {
    const { store, firestore, lease } = await leader(world);
    const never = world.witness.failureOf(guardedWrite(store, firestore, { ...lease, election: "another" }, "x"));
    await expect(never).resolves.toMatchObject({ code: "FENCED", election: "another", currentTerm: undefined });
    await world.aside((client) => client.doc(FENCE_PATH).delete());
    await expect(world.witness.failureOf(guardedWrite(store, firestore, lease, "x"))).resolves.toMatchObject({ code: "FENCED" });
    await expect(world.fieldsAt("reports/today")).resolves.toBeUndefined();
  });

  test("outlives a deleted lease document: no term is repeated, and minTerm sets the next one", async ({ world }) => {
    const { store, firestore, lease } = await leader(world);
    await world.aside((client) => client.doc(LEASE_PATH).delete());
    for (const cold of [world.store(), world.store()]) {
      await expect(world.witness.failureOf(cold.acquire(acquiring({ candidateId: "b" })))).resolves.toMatchObject({
        code: "TERM_REGRESSED",
        highestTermSeen: 1,
      });
    }
    await expect(guardedWrite(store, firestore, lease, "still in term 1")).resolves.toBeUndefined();
    await expect(win(world.store(), { candidateId: "b", minTerm: 7 })).resolves.toMatchObject({ term: 7 });
    await expect(world.witness.failureOf(guardedWrite(store, firestore, lease, "x"))).resolves.toMatchObject({ currentTerm: 7 });
  });

  test("outlives an administrator's orders after the lease document was deleted", async ({ world }) => {
    await leader(world);
    await world.aside((client) => client.doc(LEASE_PATH).delete());
    const admin = world.store();
    await expect(world.witness.failureOf(admin.pause(ELECTION, { reason: "restore" }))).resolves.toMatchObject({
      code: "TERM_REGRESSED",
      highestTermSeen: 1,
    });
    await expect(world.fieldsAt(FENCE_PATH)).resolves.toMatchObject({ term: 1 });
    await expect(admin.repair(ELECTION, { minTerm: 2 })).resolves.toMatchObject({ repaired: true, minTerm: 2 });
    await expect(admin.pause(ELECTION, { reason: "restore" })).resolves.toMatchObject({ isNew: true });
  });

  test("with another document in the fence's place is an error that names it", async ({ world }) => {
    const { store, firestore, lease } = await leader(world);
    await world.aside((client) => client.doc(FENCE_PATH).set({ name: "Ada" }));
    const error = await world.witness.failureOf(guardedWrite(store, firestore, lease, "x"));
    expect(error).toMatchObject({ code: "FOREIGN_RECORD", election: ELECTION });
    expect(error.message).toContain(FENCE_PATH);
    await expect(world.fieldsAt(FENCE_PATH)).resolves.toEqual({ name: "Ada" });
  });

  test("is tried again and refused if a takeover comes between its fence and its commit", async ({ world }) => {
    const { store, firestore, lease } = await leader(world);
    const attempts: number[] = [];
    const guarded = guardedWrite(store, firestore, lease, "too late", async (attempt) => {
      attempts.push(attempt);
      world.moveServerClock(20_000);
      await win(world.store(), { candidateId: "b" });
    });

    await expect(world.witness.failureOf(guarded)).resolves.toMatchObject({ code: "FENCED", term: 1, currentTerm: 2 });
    expect(attempts).toEqual([1]);
    await expect(world.fieldsAt("reports/today")).resolves.toBeUndefined();
  });

  test("is not disturbed by renewals, which do not write the document that it has read", async ({ world }) => {
    const { store, firestore, lease } = await leader(world);
    const attempts: number[] = [];
    await guardedWrite(store, firestore, lease, "content", async (attempt) => {
      attempts.push(attempt);
      for (let renewals = 0; renewals < 5; renewals += 1) await store.renew(lease, LIMITS);
      await store.publish(lease, "value", LIMITS);
    });
    expect(attempts).toEqual([1]);
    await expect(world.fieldsAt("reports/today")).resolves.toEqual({ content: "content" });
  });
});

interface Service extends AsyncDisposable {
  readonly host: string;
}

interface Kind {
  readonly name: string;
  /** True if a transaction locks what it has read. */
  readonly locks: boolean;
  readonly start: () => Promise<Service>;
}

const own: Kind = {
  name: "our server, whose transactions are optimistic",
  locks: false,
  start: async () => {
    const server = await startFirestoreServer();
    return { host: server.url, [Symbol.asyncDispose]: async () => server.stop() };
  },
};
const official: Kind = { name: "the official emulator, whose transactions lock", locks: true, start: startOfficialFirestore };
/** Google's own emulator too, if gcloud has installed it. */
const services = (await officialFirestoreMissing()) === undefined ? [own, official] : [own];

describe.for(services)("on $name", ({ start, locks }) => {
  let service: Service;
  let clients: Firestore[];

  beforeAll(async () => {
    service = await start();
    clients = [];
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.terminate()));
    await service[Symbol.asyncDispose]();
  });

  function member(): { readonly store: FirestoreLeaseStore; readonly firestore: Firestore } {
    const firestore = new Firestore({ projectId: "demo-x", host: service.host, ssl: false });
    clients.push(firestore);
    return { firestore, store: new FirestoreLeaseStore({ firestore }) };
  }

  plainTest("a leader renews while its own guarded transaction stays open", async () => {
    const { store, firestore } = member();
    const election = "long-transaction";
    const elector = new Elector({ store, election, leaseDurationMs: 15_000, renewIntervalMs: 300 });
    const renewed: unknown[] = [];
    elector.on("renewed", (event) => renewed.push(event));
    await using leadership = await elector.campaign();

    await guardedWrite(store, firestore, leadership, "long", async () => {
      // A renewal that waited for the transaction would not finish.
      const before = renewed.length;
      await expect.poll(() => renewed.length).toBeGreaterThanOrEqual(before + 4);
    });

    expect(leadership.isValid()).toBe(true);
    expect(leadership.signal.aborted).toBe(false);
    expect((await firestore.doc("reports/today").get()).get("content")).toBe("long");
  });

  plainTest(
    "a takeover against an open guarded transaction waits for it, or makes it start again: no stale write is last",
    async () => {
      const [stale, fresh] = [member(), member()];
      const election = "takeover";
      const lease = await win(stale.store, { election });
      await fresh.store.break(election, { reason: "test", immediate: true });
      await stale.store.read(election);
      const open = await win(stale.store, { election });
      expect(open.term).toBe(2);
      let takeover: Promise<unknown> | undefined;
      const outcome = await guardedWrite(stale.store, stale.firestore, open, "by term 2", async () => {
        takeover ??= fresh.store.break(election, { reason: "test", immediate: true, timeoutMs: 20_000 });
        // With locks the takeover waits for this transaction to end, so this transaction must not wait for the takeover.
        if (!locks) await takeover;
      }).then(
        () => "written",
        (error: unknown) => (error as FencedError).code,
      );
      await takeover;
      await expect(win(fresh.store, { election, candidateId: "b" })).resolves.toMatchObject({ term: 3 });
      await fresh.firestore.doc("reports/today").set({ content: "by term 3" });

      expect(outcome).toBe(locks ? "written" : "FENCED");
      await expect(guardedWrite(stale.store, stale.firestore, open, "too late")).rejects.toMatchObject({
        code: "FENCED",
        currentTerm: 3,
      });
      await expect(guardedWrite(stale.store, stale.firestore, lease, "too late")).rejects.toMatchObject({ code: "FENCED" });
      expect((await fresh.firestore.doc("reports/today").get()).get("content")).toBe("by term 3");
    },
  );

  plainTest("an occurrence is claimed, guarded by its own document, and done once", async () => {
    const [first, second] = [member(), member()];
    const [ticks, others] = [first, second].map(({ store }) => store.occurrences("report", { retentionMs: 60_000 }));
    const election = "report@2026-11-20T10:00:00.000Z";
    const lease = await win(ticks!, { election });
    await expect(others!.acquire(acquiring({ election, candidateId: "b" }))).resolves.toMatchObject({ acquired: false });
    const write = async (): Promise<void> =>
      first.firestore.runTransaction(async (transaction) => {
        await ticks!.fence(lease, transaction);
        transaction.set(first.firestore.doc("reports/occurrence"), { term: lease.term });
      });
    await write();
    await expect(ticks!.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    await write();
    await expect(ticks!.complete(lease, LIMITS)).resolves.toBe("released");
    await expect(write()).rejects.toMatchObject({ code: "FENCED", currentTerm: 1 });
    await expect(others!.read(election)).resolves.toMatchObject({ state: "vacant", bar: { kind: "done" } });
    await expect(others!.acquire(acquiring({ election, candidateId: "b" }))).resolves.toMatchObject({ acquired: false });
  });

  plainTest("one of many wins, and a renewal is one write that no open transaction delays", async () => {
    const members = Array.from({ length: 6 }, member);
    const election = "race";
    const outcomes = await Promise.all(
      members.map(({ store }, index) => store.acquire(acquiring({ election, candidateId: `m${index}`, timeoutMs: 10_000 }))),
    );
    const wins = outcomes.filter(({ acquired }) => acquired);
    expect(wins).toHaveLength(1);
    const index = outcomes.findIndex(({ acquired }) => acquired);
    const winner = outcomes[index] as Extract<(typeof outcomes)[number], { acquired: true }>;
    const { store, firestore } = members[index]!;
    await guardedWrite(store, firestore, winner.lease, "race", async () => {
      // A renewal that waited for this transaction would reach its own time limit.
      await expect(store.renew(winner.lease, LIMITS)).resolves.toMatchObject({ held: true });
    });
  });
});
