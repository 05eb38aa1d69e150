import { LeaseLostError } from "@leasehold/core";
import { describe, expect } from "vitest";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { LAPSE_MS, someLeaseId } from "./blob-world.ts";
import { test } from "./world-test.ts";

describe("a break", () => {
  test("ends a transfer to a candidate that does not come, also under a lease without a term", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    const abort = new AbortController();
    const transfer = world.store().transfer(ELECTION, "nobody", { transferTimeoutMs: 600_000, signal: abort.signal });
    transfer.catch(() => undefined);
    await expect.poll(async () => (await world.store().read(ELECTION))?.bar).toEqual({ kind: "transfer", candidateId: "nobody" });
    abort.abort();
    // A lease like that of a candidate that died between its two steps.
    await world.blob.getBlobLeaseClient(someLeaseId()).acquireLease(15);

    await expect(world.store().break(ELECTION, { reason: "nobody comes" })).resolves.toEqual({ broken: true, term: 1 });

    await world.forward(LAPSE_MS);
    await expect(win(world.store(), { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });

  test("does not change a blob of yours in the note's place, and throws an error that says so", async ({ world }) => {
    await win(world.store());
    const yours = world.container.getBlockBlobClient(`${world.blob.name}.note`);
    await yours.upload("do not touch", 12);

    const error = await world.witness.failureOf(world.store().break(ELECTION, { reason: "maintenance" }));

    expect(error).toMatchObject({ code: "FOREIGN_RECORD" });
    expect((await yours.downloadToBuffer()).toString()).toBe("do not touch");
    await expect(world.blob.getProperties()).resolves.toMatchObject({ leaseState: "leased" });
  });

  test("leaves the reason in a blob beside the lease's, for later readers", async ({ world }) => {
    await win(world.store());
    await world.store().break(ELECTION, { reason: "disk full – bitte prüfen 🔧" });
    await world.forward(LAPSE_MS);

    await expect(world.store().read(ELECTION)).resolves.toMatchObject({
      state: "expired",
      term: 1,
      endingReason: "disk full – bitte prüfen 🔧",
    });
    const note = await world.container.getBlobClient(`${ELECTION}.note`).getProperties();
    expect(note).toMatchObject({ contentLength: 0, metadata: { leasehold_note_term: "1" } });
  });

  test("has no effect on the next term", async ({ world }) => {
    const [a, b] = [world.store(), world.store()];
    await win(a);
    await b.break(ELECTION, { reason: "maintenance", immediate: true });
    const lease = await win(b, { candidateId: "b" });
    await world.blob.getBlobLeaseClient().breakLease(60);

    const seen = await world.store().read(ELECTION);
    expect(seen).toMatchObject({ state: "ending", term: 2 });
    expect(seen).not.toHaveProperty("endingReason");
    // Another tool broke the lease, and may have cut it short. So the holder does not count on the rest of it.
    await expect(b.renew(lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "broken", barredUntilExpiry: false });
  });

  test("that is immediate fails the next renewal even before another candidate has acquired", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    await world.store().break(ELECTION, { reason: "emergency", immediate: true });

    await expect(store.renew(lease, LIMITS)).resolves.toEqual({
      held: false,
      reason: "broken",
      barredUntilExpiry: false,
      explanation: "an administrator broke it: emergency",
    });
  });

  test("can be cut short by an immediate one", async ({ world }) => {
    const [a, b] = [world.store(), world.store()];
    await win(a);
    await b.break(ELECTION, { reason: "maintenance" });
    await expect(b.acquire(acquiring({ candidateId: "b" }))).resolves.toMatchObject({ acquired: false });
    await expect(b.break(ELECTION, { reason: "emergency", immediate: true })).resolves.toEqual({ broken: true, term: 1 });

    await expect(win(b, { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });

  test("of a lease that has run out still keeps its holder from renewing it, once", async ({ world }) => {
    const [a, b] = [world.store(), world.store()];
    const lease = await win(a);
    await world.forward(LAPSE_MS);
    await expect(b.break(ELECTION, { reason: "test" })).resolves.toEqual({ broken: true, term: 1 });
    await expect(b.break(ELECTION, { reason: "test" })).resolves.toMatchObject({ broken: false, current: { term: 1 } });
    await expect(a.renew(lease, LIMITS)).resolves.toMatchObject({ held: false });
    await expect(win(b, { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });

  test.for([false, true])(
    "that arrives after the successor has taken over does not hit it (immediate: %s)",
    async (immediate, { world }) => {
      const [a, b] = [world.store(), world.store()];
      const lease = await win(a);
      const late = world.holdOnce("lease:break");
      const breaking = world.store().break(ELECTION, { reason: "test", immediate });
      const { headers } = await late.arrived;
      expect(headers["if-match"]).toBeDefined();
      await a.release(lease, LIMITS);
      const successor = await win(b, { candidateId: "b" });
      await late.letGo();

      await expect(breaking).resolves.toMatchObject({ broken: false, current: { term: 2 } });
      await expect(b.renew(successor, LIMITS)).resolves.toMatchObject({ held: true });
      await expect(b.read(ELECTION)).resolves.toMatchObject({ state: "held", term: 2, holder: "b" });
    },
  );

  test("that hits a successor between its two steps makes no second leader: its lease cannot be renewed, or it does not lead", async ({
    world,
  }) => {
    const [a, b, c] = [world.store(), world.store(), world.store()];
    const lease = await win(a);
    const late = world.holdOnce("lease:break");
    const breaking = world.store().break(ELECTION, { reason: "test" });
    await late.arrived;
    await a.release(lease, LIMITS);
    await b.read(ELECTION);
    const secondStep = world.holdOnce("metadata");
    const acquisition = b.acquire(acquiring({ candidateId: "b" }));
    await secondStep.arrived;
    await late.letGo();
    await breaking;
    await secondStep.letGo();

    const outcome = await acquisition;
    await expect(c.acquire(acquiring({ candidateId: "c" }))).resolves.toMatchObject({ acquired: !outcome.acquired });
    if (!outcome.acquired) return;
    await expect(b.renew(outcome.lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "broken" });
    await world.forward(LAPSE_MS);
    await expect(win(c, { candidateId: "c" })).resolves.toMatchObject({ term: 3 });
  });

  test("succeeds while the leader publishes at the same time", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    const late = world.holdOnce("lease:break");
    const breaking = world.store().break(ELECTION, { reason: "test" });
    await late.arrived;
    await store.publish(lease, "http://a:8080", LIMITS);
    await late.letGo();

    await expect(breaking).resolves.toEqual({ broken: true, term: 1 });
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "broken", barredUntilExpiry: true });
  });

  test("without a reason, with too long a reason, or for an impossible term is refused before any request", async ({ world }) => {
    const store = world.store();
    const sent = await world.namesDuring(async () => {
      for (const options of [
        {},
        { reason: 7 },
        { reason: "x".repeat(501) },
        { reason: `${"𝄞".repeat(125)}x` },
        { reason: "\ud800" },
        { reason: "test", ifTerm: 0 },
        { reason: "test", ifTerm: 1.5 },
        { reason: "test", ifTerm: "1" },
      ]) {
        await expect(world.witness.failureOf(store.break(ELECTION, options as never))).resolves.toMatchObject({
          code: "CONFIGURATION",
        });
      }
    });
    expect(sent).toEqual([]);
  });

  test("takes any reason of 500 bytes", async ({ world }) => {
    await win(world.store());
    const reason = "𝄞".repeat(125);
    await expect(world.store().break(ELECTION, { reason })).resolves.toMatchObject({ broken: true });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ endingReason: reason });
  });

  test.for(["write-note", "lease:break"])("is sent again if the request '%s' is lost", async (name, { world }) => {
    await win(world.store());
    world.faultOnce(name === "write-note" ? "put" : name, { kind: "cut", side: "before" });

    const outcome = world.settled(world.store().break(ELECTION, { reason: "test" }));
    await expect(outcome).resolves.toEqual({ broken: true, term: 1 });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "ending", endingReason: "test" });
  });

  test("is not sent again if only the reply is lost", async ({ world }) => {
    await win(world.store());
    world.faultOnce("lease:break", { kind: "cut", side: "after" });

    const sent = await world.namesDuring(async () => {
      const outcome = world.settled(world.store().break(ELECTION, { reason: "test" }));
      await expect(outcome).resolves.toEqual({ broken: true, term: 1 });
    });
    expect(sent.filter((name) => name === "lease:break")).toHaveLength(1);
  });

  test("of a lease that another tool has taken is a break like any other", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    await world.blob.getBlobLeaseClient(someLeaseId()).acquireLease(-1);

    await expect(store.break(ELECTION, { reason: "a lease without an end" })).resolves.toEqual({ broken: true, term: 1 });
    await world.forward(63_000);
    await expect(win(store)).resolves.toMatchObject({ term: 2 });
  });
});

describe("a leader whose term is broken", () => {
  test("drains in the rest of its lease, is valid until its end, and no rival leads before that", async ({ world }) => {
    const leader = world.candidate("a");
    const rival = world.candidate("b");
    const leadership = await world.settled(leader.elector.campaign());
    const grantedMs = world.clock.monotonicMs();
    const rivalLeads = rival.elector.campaign();
    await world.pass(7_000);
    await world.store().break(ELECTION, { reason: "maintenance" });

    await world.until(() => leadership.signal.aborted);
    expect(leadership.signal.reason).toBeInstanceOf(LeaseLostError);
    expect(leadership.signal.reason).toMatchObject({ reason: "broken", message: expect.stringContaining("maintenance") });
    expect(leadership.isValid()).toBe(true);
    expect(leadership.remainingMs()).toBeGreaterThan(1_000);
    // The last renewal was sent at 5 s. The leader is valid until 5 + 13.5 s, and rivals are blocked until 5 + 15 s.
    const validUntilMs = world.clock.monotonicMs() + leadership.remainingMs() - grantedMs;
    expect(validUntilMs).toBeGreaterThan(18_000);
    expect(validUntilMs).toBeLessThan(18_600);
    await world.until(() => {
      expect(leadership.isValid() && rival.elector.isLeader).toBe(false);
      return rival.elector.isLeader;
    });
    expect(world.clock.monotonicMs() - grantedMs).toBeGreaterThan(18_600);
    await leadership.release();
    await (await rivalLeads).release();
    expect((await rivalLeads).term).toBe(2);
  });
});
