import { LeaseLostError } from "@leasehold/core";
import { describe, expect } from "vitest";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { LAPSE_MS } from "./blob-world.ts";
import { test } from "./world-test.ts";

const HOUR_MS = 3_600_000;

describe("a transfer", () => {
  test("to a candidate that does not come does not block new processes, such as functions, for ever", async ({ world }) => {
    await win(world.store());
    await world.settled(world.store().transfer(ELECTION, "b", { transferTimeoutMs: 10_000 }));
    await world.forward(HOUR_MS);

    expect(await world.store().read(ELECTION)).not.toHaveProperty("bar");
    await expect(world.candidate("c").elector.tryRun(() => "done")).resolves.toEqual({ elected: true, term: 2, result: "done" });
  });

  test("does not admit a new process too early", async ({ world }) => {
    await win(world.store());
    const outcome = world.store().transfer(ELECTION, "b", { transferTimeoutMs: 30_000 });
    await world.proxy.waitFor(({ name, deliveries }) => name === "lease:break" && deliveries[0]?.status === 202);
    await world.forward(LAPSE_MS);
    await world.forward(24_000);

    await expect(world.store().acquire(acquiring({ candidateId: "c" }))).resolves.toMatchObject({ acquired: false });
    await expect(world.store().acquire(acquiring({ candidateId: "b" }))).resolves.toMatchObject({ acquired: true });
    await expect(world.settled(outcome)).resolves.toBe("accepted");
  });

  // A released lease cannot have a note. So the store reports the failed transfer, and blocks no candidate.
  test("fails, and says so, if the leader releases before it has learned of the transfer", async ({ world }) => {
    const [a, c] = [world.store(), world.store()];
    const lease = await win(a);
    const outcome = world.store().transfer(ELECTION, "b");
    await world.proxy.waitFor(({ name, deliveries }) => name === "lease:break" && deliveries[0]?.status === 202);

    // The leader stops between two renewals.
    await a.release(lease, LIMITS);

    await expect(world.settled(outcome)).resolves.toBe("expired");
    await expect(c.acquire(acquiring({ candidateId: "c" }))).resolves.toMatchObject({ acquired: true });
  });

  test("of an election that never existed fails", async ({ world }) => {
    await expect(world.store().transfer(ELECTION, "b")).resolves.toBe("lost");
    await expect(win(world.store(), { candidateId: "c" })).resolves.toMatchObject({ candidateId: "c" });
  });

  test.for(["released", "expired", "broken"])(
    "of a lease that is %s reserves the election from the order on",
    async (how, { world }) => {
      const [a, b, c, admin] = [world.store(), world.store(), world.store(), world.store()];
      const lease = await win(a);
      await c.read(ELECTION);
      if (how === "released") await a.release(lease, LIMITS);
      else if (how === "broken") await admin.break(ELECTION, { reason: "test", immediate: true });
      else await world.forward(LAPSE_MS);
      const outcome = admin.transfer(ELECTION, "b");
      await world.proxy.waitFor(({ headers, deliveries }) => {
        const { "x-ms-meta-leasehold_order_to": to } = headers;
        return to === "b" && deliveries[0]?.status === 200;
      });

      for (const other of [c, world.store()]) {
        await expect(other.acquire(acquiring({ candidateId: "c" }))).resolves.toMatchObject({ acquired: false });
      }
      await expect(win(b, { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
      await expect(world.settled(outcome)).resolves.toBe("accepted");
    },
  );

  test("that arrives after the successor has taken over fails, and does not hit the successor", async ({ world }) => {
    const [a, b] = [world.store(), world.store()];
    const lease = await win(a);
    const late = world.holdOnce("lease:break");
    const outcome = world.store().transfer(ELECTION, "c");
    await late.arrived;
    await a.release(lease, LIMITS);
    const successor = await win(b, { candidateId: "b" });
    await late.letGo();

    await expect(outcome).resolves.toBe("lost");
    await expect(b.renew(successor, LIMITS)).resolves.toMatchObject({ held: true });
    // The remaining note names another term, and reserves nothing.
    await b.release(successor, LIMITS);
    await expect(win(world.store(), { candidateId: "d" })).resolves.toMatchObject({ term: 3 });
  });

  test("succeeds while the leader publishes at the same time", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    const late = world.holdOnce("lease:break");
    const outcome = world.store().transfer(ELECTION, "b");
    await late.arrived;
    await store.publish(lease, "http://a:8080", LIMITS);
    await late.letGo();
    await world.forward(LAPSE_MS);

    await expect(win(world.store(), { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
    await expect(world.settled(outcome)).resolves.toBe("accepted");
  });

  test("leaves a note that no other term uses", async ({ world }) => {
    const [a, b] = [world.store(), world.store()];
    await win(a);
    await world.settled(world.store().transfer(ELECTION, "c", { transferTimeoutMs: 1_000 }));
    await b.read(ELECTION);
    await world.forward(1_500);
    const next = await win(b, { candidateId: "b" });
    await world.blob.getBlobLeaseClient().breakLease(0);

    await expect(b.renew(next, LIMITS)).resolves.toMatchObject({
      held: false,
      explanation: "an administrator broke it: no reason was left",
    });
    const seen = await world.store().read(ELECTION);
    expect(seen).toMatchObject({ state: "expired", term: 2 });
    expect(seen).not.toHaveProperty("bar");
    await expect(win(world.store(), { candidateId: "d" })).resolves.toMatchObject({ term: 3 });
  });
});

describe("a leader with an order to transfer", () => {
  test("drains in the rest of its lease, leaves it to run out, and the named candidate leads next", async ({ world }) => {
    const leader = world.candidate("a");
    const named = world.candidate("b");
    const other = world.candidate("c");
    const stopping = new AbortController();
    const leadership = await world.settled(leader.elector.campaign());
    const led: string[] = [];
    const runs = [named, other].map(({ elector }) =>
      elector.run(
        async (led_) => {
          led.push(`${led_.candidateId} in term ${led_.term}`);
          await new Promise((resolve) => led_.signal.addEventListener("abort", resolve));
        },
        { signal: stopping.signal },
      ),
    );
    await world.pass(6_000);
    const outcome = world.store().transfer(ELECTION, "b");

    await world.until(() => leadership.signal.aborted);
    expect(leadership.signal.reason).toBeInstanceOf(LeaseLostError);
    expect(leadership.signal.reason).toMatchObject({ message: expect.stringContaining("asked for a transfer to 'b'") });
    expect(leadership.isValid()).toBe(true);
    const released = world.namesDuring(() => leadership.release());
    await expect(world.settled(released)).resolves.not.toContain("lease:release");

    await expect(world.settled(outcome)).resolves.toBe("accepted");
    expect(led).toEqual(["b in term 2"]);
    stopping.abort();
    await world.settled(Promise.all(runs));
  });
});
