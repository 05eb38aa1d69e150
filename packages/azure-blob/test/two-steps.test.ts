import { describe, expect } from "vitest";
import type { Fault } from "@leasehold/test-kit/faults/fault";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { onlyFor } from "@leasehold/test-kit/faults/fault-proxy";
import { LAPSE_MS, someLeaseId } from "./blob-world.ts";
import { test } from "./world-test.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const SERVER_BUSY: Fault = { kind: "answer", status: 503, headers: { "x-ms-error-code": "ServerBusy" } };

describe("a crash between acquiring the lease and naming its term", () => {
  test("reads as unknown for a new process", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    await world.blob.getBlobLeaseClient(someLeaseId()).acquireLease(15);

    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "unknown", term: 1 });
  });

  test("reads as unknown, without a holder, for a process that held or released the term before", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store, { value: "http://a" }), LIMITS);
    await world.blob.getBlobLeaseClient(someLeaseId()).acquireLease(15);

    const seen = await store.read(ELECTION);

    expect(seen).toMatchObject({ state: "unknown", term: 1 });
    expect(seen).not.toHaveProperty("holder");
    expect(seen).not.toHaveProperty("value");
  });

  test.for(["vacant", "expired"] as const)(
    "reads as unknown, without a holder, for a process that has read the term before %s",
    async (state, { world }) => {
      const store = world.store();
      const lease = await win(store, { value: "http://a" });
      const reader = world.store();
      await reader.read(ELECTION);
      if (state === "vacant") await store.release(lease, LIMITS);
      else await world.forward(LAPSE_MS);
      await expect(reader.read(ELECTION)).resolves.toMatchObject({ state });
      await world.blob.getBlobLeaseClient(someLeaseId()).acquireLease(15);

      const seen = await reader.read(ELECTION);

      expect(seen).toMatchObject({ state: "unknown", term: 1 });
      expect(seen).not.toHaveProperty("holder");
      expect(seen).not.toHaveProperty("value");
    },
  );

  test("reads as unknown for the process of the crashed candidate's predecessor, even if that lost its lease by expiry", async ({
    world,
  }) => {
    const store = world.store();
    const lease = await win(store);
    await world.forward(LAPSE_MS);
    await world.blob.getBlobLeaseClient(someLeaseId()).acquireLease(15);

    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "unknown", term: 1 });
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "taken" });
    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "unknown", term: 1 });
  });

  test("blocks candidates for no longer than that lease, and its term is not lost", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    await world.blob.getBlobLeaseClient(someLeaseId()).acquireLease(15);

    await expect(store.acquire(acquiring())).resolves.toMatchObject({ acquired: false });
    await world.forward(LAPSE_MS);
    await expect(win(store)).resolves.toMatchObject({ term: 2 });
  });
});

describe("every acquisition", () => {
  test("has a lease id of its own, and every metadata write carries that id and the blob's ETag", async ({ world }) => {
    const store = world.store();
    const sent = await world.requestsDuring(async () => {
      for (let count = 0; count < 3; count += 1) {
        const lease = await win(store);
        await store.publish(lease, `value ${count}`, LIMITS);
        await store.publish(lease, "another", LIMITS);
        await store.release(lease, LIMITS);
      }
    });

    const leaseIds = sent.filter(({ name }) => name === "lease:acquire").map(({ headers }) => headers["x-ms-proposed-lease-id"]);
    expect(new Set(leaseIds).size).toBe(3);
    for (const leaseId of leaseIds) expect(leaseId).toMatch(UUID);
    const writes = sent.filter(({ name }) => name === "metadata");
    expect(writes).toHaveLength(9);
    expect(writes.map(({ headers }) => headers["x-ms-lease-id"])).toEqual(
      leaseIds.flatMap((leaseId) => [leaseId, leaseId, leaseId]),
    );
    const etags = writes.map(({ headers }) => headers["if-match"]);
    expect(new Set(etags).size).toBe(9);
    for (const etag of etags) expect(etag).toMatch(/^"?0x[0-9A-F]+"?$/);
    for (const { headers } of sent.filter(({ name }) => name === "lease:renew" || name === "lease:release")) {
      expect(leaseIds).toContain(headers["x-ms-lease-id"]);
    }
  });

  test("counts from before the acquisition was sent, not from when the term was written", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    const late = world.holdOnce("metadata");
    const beforeMs = world.clock.monotonicMs();
    const acquisition = win(store);
    await late.arrived;
    await world.forward(3_000);
    await late.letGo();

    const { grantedAt } = await acquisition;

    expect(grantedAt.monotonicMs).toBe(beforeMs);
    expect(world.clock.monotonicMs()).toBe(beforeMs + 3_000);
  });

  test("leads only once its term is written, and reads as unknown in its own process until then", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    const late = world.holdOnce("metadata");
    const acquisition = store.acquire(acquiring({ candidateId: "b" }));
    await late.arrived;

    await expect(world.blob.getProperties()).resolves.toMatchObject({ leaseState: "leased" });
    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "unknown", term: 1 });

    await late.letGo();
    await expect(acquisition).resolves.toMatchObject({ acquired: true });
    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "held", term: 2, holder: "b" });
  });
});

describe("the term write", () => {
  test.for([
    ["refused", SERVER_BUSY],
    ["lost on its way", { kind: "cut", side: "before" }],
    ["denied", { kind: "answer", status: 403, headers: { "x-ms-error-code": "AuthorizationPermissionMismatch" } }],
  ] as const)("that is %s gives the lease back by its id", async ([how, fault], { world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    world.proxy.rule = onlyFor("metadata", fault);

    const sent = await world.requestsDuring(async () => {
      const error = await world.witness.failureOf(store.acquire(acquiring({ candidateId: "b" })));
      expect(error).toMatchObject({ operation: "write-term", election: ELECTION });
    });

    const released = sent.at(-1);
    expect(released?.name, how).toBe("lease:release");
    expect(released?.headers["x-ms-lease-id"]).toBe(
      sent.find(({ name }) => name === "lease:acquire")?.headers["x-ms-proposed-lease-id"],
    );
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 1 });
  });

  test.for(["after", "mid-reply"] as const)(
    "whose reply is lost (%s) is found by reading: the term leads",
    async (side, { world }) => {
      const store = world.store();
      await store.release(await win(store), LIMITS);
      world.faultOnce("metadata", { kind: "cut", side });

      const sent = await world.namesDuring(async () => {
        await expect(win(store, { candidateId: "b", value: "http://b" })).resolves.toMatchObject({ term: 2 });
      });

      expect(sent).toEqual(["lease:acquire", "metadata", "head"]);
      await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "held", term: 2, holder: "b", value: "http://b" });
    },
  );

  test("that is delivered twice leads once", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    world.faultOnce("metadata", { kind: "duplicate" });

    const lease = await win(store);

    expect(lease.term).toBe(2);
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    await expect(store.publish(lease, "value", LIMITS)).resolves.toMatchObject({ held: true });
    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "held", term: 2, value: "value" });
  });

  test("that arrives after it was given up and sent again changes nothing", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    const late = world.holdOnce("metadata");
    const sent = await world.requestsDuring(async () => {
      await expect(world.settled(store.acquire(acquiring()))).resolves.toMatchObject({ acquired: true, lease: { term: 2 } });
    });
    // The store has read that nothing was written, and has written again.
    expect(sent.map(({ name }) => name)).toEqual(["lease:acquire", "metadata", "head", "metadata"]);
    const { etag } = await world.blob.getProperties();
    await late.letGo();
    expect((await late.arrived).deliveries).toMatchObject([{ status: 412 }]);

    await expect(world.blob.getProperties()).resolves.toMatchObject({ etag, leaseState: "leased" });
  });

  test("that arrived without an answer is found by a read", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    world.faultOnce("metadata", { kind: "black-hole", side: "reply" });

    await expect(world.settled(win(store, { candidateId: "b" }))).resolves.toMatchObject({ term: 2 });
    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "held", holder: "b" });
  });

  test("of a lease that was broken in between has lost the race", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    const late = world.holdOnce("metadata");
    const acquisition = store.acquire(acquiring());
    await late.arrived;
    await world.blob.getBlobLeaseClient().breakLease(0);
    await late.letGo();

    await expect(acquisition).resolves.toMatchObject({ acquired: false });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 1 });
  });

  test("of a lease that ran out and was taken in between has lost the race, and does not overwrite the other term", async ({
    world,
  }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    const late = world.holdOnce("metadata");
    const acquisition = store.acquire(acquiring({ timeoutMs: 60_000 }));
    await late.arrived;
    await world.forward(LAPSE_MS);
    const other = world.store();
    await win(other, { candidateId: "b" });
    await late.letGo();

    await expect(acquisition).resolves.toMatchObject({ acquired: false });
    await expect(other.read(ELECTION)).resolves.toMatchObject({ state: "held", term: 2, holder: "b" });
  });

  test("after another's whole term that this store has not read: reads again, and raises the term above it", async ({
    world,
  }) => {
    const [store, other] = [world.store(), world.store()];
    await store.release(await win(store), LIMITS);
    await store.read(ELECTION);
    await other.release(await win(other, { candidateId: "b" }), LIMITS);

    const sent = await world.namesDuring(async () => {
      await expect(win(store)).resolves.toMatchObject({ term: 3 });
    });

    expect(sent).toEqual(["lease:acquire", "metadata", "head", "metadata"]);
  });

  test("that fails together with the release of its lease: the lease is freed as soon as this store reads it", async ({
    world,
  }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    world.proxy.rule = ({ name }) => (name === "metadata" || name === "lease:release" ? SERVER_BUSY : undefined);
    await world.witness.failureOf(store.acquire(acquiring()));
    world.proxy.rule = undefined;

    await store.read(ELECTION);

    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 1 });
  });

  test("that arrived, although all later requests failed: the lease is freed as soon as this store reads it", async ({
    world,
  }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    world.proxy.rule = ({ name }) => {
      if (name === "metadata") return { kind: "cut", side: "after" };
      return name === "head" || name === "lease:release" ? SERVER_BUSY : undefined;
    };
    await world.witness.failureOf(store.acquire(acquiring({ candidateId: "b" })));
    world.proxy.rule = undefined;
    await expect(world.blob.getProperties()).resolves.toMatchObject({ leaseState: "leased", metadata: { leasehold_term: "2" } });

    await store.read(ELECTION);

    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 2 });
    await expect(win(world.store())).resolves.toMatchObject({ term: 3 });
  });
});

describe("an acquisition whose outcome is unknown", () => {
  test.for([
    ["whose reply is lost", { kind: "cut", side: "after" }],
    ["whose reply is half lost", { kind: "cut", side: "mid-reply" }],
    ["that the service has carried out without an answer", { kind: "black-hole", side: "reply" }],
  ] as const)("%s: the lease is freed at once", async ([, fault], { world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    world.faultOnce("lease:acquire", fault);

    const error = await world.settled(world.witness.failureOf(store.acquire(acquiring())));

    expect(error).toMatchObject({ operation: "acquire", mayHaveBeenApplied: true });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 1 });
    await expect(win(world.store(), { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });

  test("and freed needs no write at later reads, whichever candidate has the lease then", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    world.faultOnce("lease:acquire", { kind: "cut", side: "after" });
    await world.witness.failureOf(store.acquire(acquiring()));

    const stranger = world.blob.getBlobLeaseClient(someLeaseId());
    await stranger.acquireLease(15);
    await expect(world.namesDuring(() => store.read(ELECTION))).resolves.toEqual(["head"]);

    await stranger.releaseLease();
    await win(world.store(), { candidateId: "b" });
    await expect(world.namesDuring(() => store.read(ELECTION))).resolves.toEqual(["head"]);
  });

  test("that never arrives has no effect, and blocks no candidate", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    world.faultOnce("lease:acquire", { kind: "black-hole", side: "request" });

    const error = await world.settled(world.witness.failureOf(store.acquire(acquiring())));

    expect(error).toMatchObject({ code: "STORE_TIMEOUT", operation: "acquire", mayHaveBeenApplied: true });
    await expect(win(world.store(), { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });

  test("that arrives after it was given up: its lease is freed as soon as this store reads it", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    const late = world.holdOnce("lease:acquire");
    await world.settled(world.witness.failureOf(store.acquire(acquiring())));
    await late.letGo();
    await expect(world.blob.getProperties()).resolves.toMatchObject({ leaseState: "leased" });

    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 1 });
    await expect(win(world.store(), { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });

  test("that is delivered twice wins once", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    world.faultOnce("lease:acquire", { kind: "duplicate" });

    const lease = await win(store);

    expect(lease.term).toBe(2);
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });
});

describe("the time limit of a call", () => {
  test.for(["publish", "release"] as const)("is shared by the requests of a %s", async (call, { world }) => {
    const store = world.store();
    const lease = await win(store);
    world.faultOnce("metadata", { kind: "black-hole", side: "reply" });
    await world.witness.failureOf(world.settled(store.publish(lease, "http://lost", { timeoutMs: 1_000 })));
    // The next write finds another ETag after a while, and the read for the reason is never answered.
    const held = world.holdOnce("metadata", onlyFor("head", { kind: "black-hole", side: "request" }));
    const startMs = world.clock.monotonicMs();

    const limits = { timeoutMs: 1_000 };
    const calling =
      call === "publish" ? store.publish(lease, "http://new", limits) : store.release(lease, { ...limits, holdMs: 9_000 });
    const failing = world.witness.failureOf(calling);
    await held.arrived;
    await world.forward(600);
    await held.letGo();

    await expect(world.settled(failing)).resolves.toMatchObject({ code: "STORE_TIMEOUT" });
    expect(world.clock.monotonicMs() - startMs).toBeLessThan(1_100);
  });
});

describe("a release", () => {
  test("whose reply is lost is an error that says so, and the lease is free", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    world.faultOnce("lease:release", { kind: "cut", side: "after" });

    const error = await world.witness.failureOf(store.release(lease, LIMITS));

    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", operation: "release", mayHaveBeenApplied: true });
    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "vacant" });
  });

  test("that fails twice is repeated once, as soon as this store reads the lease", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    world.proxy.rule = onlyFor("lease:release", SERVER_BUSY);
    for (let tries = 0; tries < 2; tries += 1) await world.witness.failureOf(store.release(lease, LIMITS));
    world.proxy.rule = undefined;

    await expect(world.namesDuring(() => store.read(ELECTION))).resolves.toEqual(["head", "lease:release", "head"]);
    await world.blob.getBlobLeaseClient(someLeaseId()).acquireLease(15);
    await expect(world.namesDuring(() => store.read(ELECTION))).resolves.toEqual(["head"]);
  });

  test("that fails is not repeated once the lease has run out", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    world.proxy.rule = onlyFor("lease:release", SERVER_BUSY);
    await world.witness.failureOf(store.release(lease, LIMITS));
    world.proxy.rule = undefined;
    await world.forward(LAPSE_MS);
    await world.blob.getBlobLeaseClient(someLeaseId()).acquireLease(15);

    await expect(world.namesDuring(() => store.read(ELECTION))).resolves.toEqual(["head"]);
  });

  test("that fails is not repeated on the lease of a successor", async ({ world }) => {
    const [store, other] = [world.store(), world.store()];
    const lease = await win(store);
    world.proxy.rule = onlyFor("lease:release", SERVER_BUSY);
    await world.witness.failureOf(store.release(lease, LIMITS));
    world.proxy.rule = undefined;
    await world.blob.getBlobLeaseClient().breakLease(0);
    await win(other, { candidateId: "b" });

    await expect(world.namesDuring(() => store.read(ELECTION))).resolves.toEqual(["head"]);
  });

  test("is not undone by a renewal or a publication that arrives after it", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    const renewal = world.holdOnce("lease:renew");
    const publication = world.holdOnce("metadata", world.proxy.rule);
    const givenUp = [
      world.witness.failureOf(store.renew(lease, LIMITS)),
      world.witness.failureOf(store.publish(lease, "late", LIMITS)),
    ];
    await Promise.all([renewal.arrived, publication.arrived]);
    await world.settled(Promise.all(givenUp));
    await store.release(lease, LIMITS);
    await Promise.all([renewal.letGo(), publication.letGo()]);
    expect((await renewal.arrived).deliveries).toMatchObject([{ status: 409 }]);
    expect((await publication.arrived).deliveries).toMatchObject([{ status: 412 }]);

    const seen = await world.store().read(ELECTION);
    expect(seen).toMatchObject({ state: "vacant", term: 1 });
    await expect(world.blob.getProperties()).resolves.not.toMatchObject({ metadata: { leasehold_value: "late" } });
  });

  test("keeps the blob and its term", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    await store.release(lease, LIMITS);

    await expect(world.blob.getProperties()).resolves.toMatchObject({
      metadata: { leasehold_term: "1", leasehold_termid: lease.termId },
    });
  });
});
