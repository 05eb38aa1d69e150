import { mayAcquire, type Bar } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import type { Fault } from "@leasehold/test-kit/faults/fault";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { LAPSE_MS } from "./blob-world.ts";
import { test } from "./world-test.ts";

const HOLD_MS = 8_000;
const HOLDING = { ...LIMITS, holdMs: HOLD_MS };

describe("a release with a hold", () => {
  test("shows its own process and a new one that the term is over, and for how long no candidate may acquire", async ({
    world,
  }) => {
    const store = world.store();
    await store.release(await win(store, { value: "http://a" }), HOLDING);
    await world.forward(3_000);

    for (const reader of [store, world.store()]) {
      const seen = await reader.read(ELECTION);
      expect(seen).toEqual({
        election: ELECTION,
        state: "vacant",
        term: 1,
        leaseDurationMs: LEASE_MS,
        bar: { kind: "hold", leftMs: expect.any(Number) },
      });
      const { leftMs } = seen!.bar as Extract<Bar, { kind: "hold" }>;
      expect(leftMs).toBeGreaterThan(4_000);
      expect(leftMs).toBeLessThanOrEqual(HOLD_MS);
      expect(mayAcquire(seen, "b")).toBe(false);
    }
    await world.forward(HOLD_MS);
    for (const reader of [store, world.store()]) {
      await expect(reader.read(ELECTION)).resolves.toEqual({
        election: ELECTION,
        state: "vacant",
        term: 1,
        leaseDurationMs: LEASE_MS,
      });
    }
  });

  test("takes one more request, and so does the acquisition after it, but no later one", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    await expect(world.namesDuring(() => store.release(lease, HOLDING))).resolves.toEqual(["metadata", "lease:break"]);
    await world.forward(HOLD_MS + 1_000);

    await expect(world.namesDuring(() => win(store))).resolves.toEqual(["lease:acquire", "metadata", "lease:renew"]);
    await world.forward(LAPSE_MS);
    await store.read(ELECTION);
    await expect(world.namesDuring(() => win(store))).resolves.toEqual(["lease:acquire", "metadata"]);
  });

  test.for([undefined, 0, -1, Number.NaN])("of %s ms is a release like any other", async (holdMs, { world }) => {
    const store = world.store();
    const lease = await win(store);

    const sent = await world.namesDuring(() => store.release(lease, { ...LIMITS, holdMs }));

    expect(sent).toEqual(["lease:release"]);
    await expect(win(world.store(), { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });

  test.for([
    [200, "1"],
    [1_001, "2"],
    [60_000, "60"],
    [120_000, "60"],
    [Infinity, "60"],
  ] as const)(
    "of %d ms breaks the lease in %s s, in whole ones and as many as there can be",
    async ([holdMs, seconds], { world }) => {
      const store = world.store();
      const lease = await win(store);

      const sent = await world.requestsDuring(() => store.release(lease, { ...LIMITS, holdMs }));

      expect(sent.at(-1)?.headers["x-ms-lease-break-period"]).toBe(seconds);
    },
  );

  test("lasts no longer than the lease would have", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), { ...LIMITS, holdMs: 60_000 });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "vacant", bar: { kind: "hold" } });

    await world.forward(LAPSE_MS);

    await expect(win(world.store(), { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });

  test("of a term that an administrator has broken blocks no longer than the hold", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    await world.store().break(ELECTION, { reason: "maintenance" });
    await expect(store.release(lease, HOLDING)).resolves.toBe("released");

    await expect(world.store().acquire(acquiring({ candidateId: "b" }))).resolves.toMatchObject({ acquired: false });
    await world.forward(HOLD_MS + 1_000);
    await expect(win(world.store(), { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });

  test("of a term that is transferred leaves the lease to run out, as any release does", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    const outcome = world.store().transfer(ELECTION, "b");
    await world.proxy.waitFor(({ name, deliveries }) => name === "lease:break" && deliveries[0]?.status === 202);
    await store.renew(lease, LIMITS);

    await expect(world.namesDuring(() => store.release(lease, HOLDING))).resolves.toEqual([]);

    await world.forward(LAPSE_MS);
    await win(world.store(), { candidateId: "b" });
    await expect(world.settled(outcome)).resolves.toBe("accepted");
  });
});

describe("a late hold", () => {
  test("whose break arrives after a successor took over does not hit the successor", async ({ world }) => {
    const [a, b] = [world.store(), world.store()];
    const lease = await win(a);
    const late = world.holdOnce("lease:break");
    const releasing = a.release(lease, { timeoutMs: 60_000, holdMs: HOLD_MS });
    await late.arrived;
    await world.forward(LAPSE_MS);
    const successor = await win(b, { candidateId: "b" });
    await late.letGo();

    await expect(releasing).resolves.toBe("not-held");
    await expect(b.renew(successor, LIMITS)).resolves.toMatchObject({ held: true });
    await expect(b.read(ELECTION)).resolves.toMatchObject({ state: "held", term: 2, holder: "b" });
  });

  test("whose break hits a successor's lease before its term is written makes no leader on a lease that ends too early", async ({
    world,
  }) => {
    const [a, b, c] = [world.store(), world.store(), world.store()];
    const lease = await win(a);
    const late = world.holdOnce("lease:break");
    const releasing = a.release(lease, { timeoutMs: 60_000, holdMs: 2_000 });
    await late.arrived;
    await world.forward(LAPSE_MS);
    const secondStep = world.holdOnce("metadata");
    const acquisition = b.acquire(acquiring({ candidateId: "b" }));
    await secondStep.arrived;
    await late.letGo();
    await expect(releasing).resolves.toBe("released");
    await secondStep.letGo();

    await expect(acquisition).resolves.toEqual({ acquired: false });
    await expect(win(c, { candidateId: "c" })).resolves.toMatchObject({ term: 3 });
  });
});

describe("a hold whose outcome is unknown", () => {
  const lost: Readonly<Record<string, Fault>> = {
    "never arrived": { kind: "cut", side: "before" },
    "had no reply": { kind: "cut", side: "after" },
  };
  const steps = ["metadata", "lease:break"].flatMap((step) =>
    Object.entries(lost).map(([how, fault]) => [step, how, fault] as const),
  );

  test.for(steps)("because its %s %s, can be tried again", async ([step, , fault], { world }) => {
    const store = world.store();
    const lease = await win(store);
    world.faultOnce(step, fault);
    await expect(world.witness.failureOf(store.release(lease, HOLDING))).resolves.toMatchObject({ mayHaveBeenApplied: true });
    await world.forward(1_000);

    await expect(store.release(lease, HOLDING)).resolves.toBe("released");

    await expect(world.store().acquire(acquiring({ candidateId: "b" }))).resolves.toMatchObject({ acquired: false });
    await world.forward(HOLD_MS + 1_000);
    await expect(win(world.store(), { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });

  test("is not cut short by its own process, which knows that there is no leader", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    world.faultOnce("lease:break", { kind: "cut", side: "before" });
    await world.witness.failureOf(store.release(lease, HOLDING));

    for (const reader of [store, world.store()]) {
      const seen = await reader.read(ELECTION);
      expect(seen).toMatchObject({ state: "unknown", term: 1 });
      expect(seen).not.toHaveProperty("holder");
    }
    await expect(world.blob.getProperties()).resolves.toMatchObject({ leaseState: "leased" });
  });
});
