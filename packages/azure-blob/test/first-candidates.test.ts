import { LeaseholdError, type TryRunOutcome } from "@leasehold/core";
import { describe, expect } from "vitest";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { test } from "./world-test.ts";

const CANDIDATES = Array.from({ length: 20 }, (_, index) => `candidate-${index}`);

describe("the first candidates", () => {
  test("the first one makes the container and an empty blob", async ({ world }) => {
    const lease = await win(world.store());

    expect(lease.term).toBe(1);
    await expect(world.container.exists()).resolves.toBe(true);
    await expect(world.blob.getProperties()).resolves.toMatchObject({
      contentLength: 0,
      leaseState: "leased",
      leaseDuration: "fixed",
    });
  });

  test("in an existing container, it makes only the blob", async ({ world }) => {
    await world.container.create();

    const sent = await world.namesDuring(() => win(world.store()));

    expect(sent).not.toContain("create-container");
  });

  test("of twenty stores that race on a fresh account, one wins, and no error escapes", async ({ world }) => {
    const stores = CANDIDATES.map((candidateId) => ({ candidateId, store: world.store() }));

    const outcomes = await Promise.all(stores.map(({ candidateId, store }) => store.acquire(acquiring({ candidateId }))));

    const winners = outcomes.flatMap((outcome) => (outcome.acquired ? [outcome.lease] : []));
    expect(winners).toHaveLength(1);
    expect(winners[0]).toMatchObject({ term: 1 });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ term: 1, holder: winners[0]?.candidateId });
  });

  test("of twenty electors that race on a fresh account, one runs its task", async ({ world }) => {
    const others = Promise.withResolvers<void>();
    const settled: Array<TryRunOutcome<void>> = [];
    const candidates = CANDIDATES.map((candidateId) => world.candidate(candidateId));

    const attempts = candidates.map(async ({ elector }) => {
      settled.push(await elector.tryRun(() => others.promise));
      if (settled.length === CANDIDATES.length - 1) others.resolve();
    });
    await Promise.all(attempts);

    expect(settled.filter(({ elected }) => elected)).toEqual([{ elected: true, term: 1, result: undefined }]);
    expect(candidates.flatMap(({ events }) => events.names("storeFailed", "releaseFailed"))).toEqual([]);
  });

  test("no blob is ever deleted, and no content is ever written", async ({ world }) => {
    const store = world.store();
    const sent = await world.requestsDuring(async () => {
      const lease = await win(store);
      await store.publish(lease, "value", LIMITS);
      await store.break(ELECTION, { reason: "test", immediate: true });
      await store.release(await win(store), LIMITS);
      await store.read(ELECTION);
    });

    expect(sent.map(({ method }) => method)).not.toContain("DELETE");
    expect(sent.filter(({ body }) => body.length > 0)).toEqual([]);
    await expect(world.blob.getProperties()).resolves.toMatchObject({ contentLength: 0 });
  });

  test("a deleted blob is created again, but no term is led again", async ({ world }) => {
    const { elector, events } = world.candidate("a");
    await elector.tryRun(() => undefined);
    await world.blob.delete();

    const error = await world.witness.failureOf(elector.tryRun(() => undefined));

    expect(error).toBeInstanceOf(LeaseholdError);
    expect(error.code).toBe("TERM_REGRESSED");
    expect(events.all("startedLeading")).toHaveLength(1);
  });
});

describe("losing the race to create", () => {
  test.for(["put-blob", "create-container"])("a blob that another candidate made first is used (%s)", async (name, { world }) => {
    // The other candidate creates the blob between this candidate's read and its own creation.
    const late = world.holdOnce(name);
    const acquisition = world.store().acquire(acquiring({ candidateId: "late" }));
    await late.arrived;
    const other = world.store();
    await other.release(await win(other), LIMITS);
    await late.letGo();

    await expect(acquisition).resolves.toMatchObject({ acquired: true, lease: { term: 2 } });
  });

  test("a term that began and ended between the creation and the lease is not led again", async ({ world }) => {
    const late = world.holdOnce("lease:acquire");
    const acquisition = world.store().acquire(acquiring({ candidateId: "late" }));
    await late.arrived;
    const other = world.store();
    await other.release(await win(other), LIMITS);
    await late.letGo();

    await expect(acquisition).resolves.toMatchObject({ acquired: true, lease: { term: 2 } });
  });

  test("to a candidate that also took the lease leaves the created blob in memory", async ({ world }) => {
    const late = world.holdOnce("lease:acquire");
    const store = world.store();
    const acquisition = store.acquire(acquiring({ candidateId: "late" }));
    await late.arrived;
    await win(world.store());
    await late.letGo();
    await expect(acquisition).resolves.toMatchObject({ acquired: false });

    await expect(world.namesDuring(() => store.acquire(acquiring({ candidateId: "late" })))).resolves.toEqual(["lease:acquire"]);
  });

  test("a read that was answered before another's creation costs a request, and no term", async ({ world }) => {
    await world.container.create();
    const [late, other] = [world.store(), world.store()];
    await late.read(ELECTION);
    await other.release(await win(other), LIMITS);

    const sent = await world.namesDuring(async () => expect(await win(late)).toMatchObject({ term: 2 }));

    expect(sent).toEqual(["put-blob", "head", "lease:acquire", "metadata"]);
  });

  test("a creation whose reply is lost counts", async ({ world }) => {
    const store = world.store();
    world.faultOnce("put-blob", { kind: "cut", side: "after" });
    await world.container.create();

    const error = await world.witness.failureOf(store.acquire(acquiring()));
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
    await expect(win(store)).resolves.toMatchObject({ term: 1 });
  });
});
