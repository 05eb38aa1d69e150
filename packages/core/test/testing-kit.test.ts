import { Elector, isLeaseholdError, oncePerOccurrence, type Leadership } from "@leasehold/core";
import { fakeLeadership, TestLeaseStore } from "@leasehold/core/testing";
import { mock } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

// The tests here are written as users of the kit would write theirs.

/** A user's task. */
async function bill(leadership: Leadership): Promise<string> {
  const { term, signal } = leadership;
  await leadership.publish(`billing in term ${term}`);
  while (!signal.aborted) {
    leadership.checkpoint();
    await new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
  return isLeaseholdError(signal.reason, "LEASE_LOST") ? "stopped at once" : "stopped politely";
}

describe("fakeLeadership", () => {
  test("refuses an unknown option of a fake leadership", () => {
    const options = { terms: 7 } as object;
    expect(() => fakeLeadership(options)).toThrow("fakeLeadership has no option 'terms'. Was 'term' meant?");
  });

  test("runs a task until the test loses its lease", async () => {
    const leadership = fakeLeadership({ term: 7, election: "billing" });
    const billing = bill(leadership);
    expect([leadership.isValid(), leadership.remainingMs()]).toEqual([true, 13_500]);

    leadership.lose("taken");
    await expect(billing).resolves.toBe("stopped at once");
    expect(leadership.published).toEqual(["billing in term 7"]);
    expect([leadership.isValid(), leadership.remainingMs()]).toEqual([false, 0]);
    expect(() => leadership.assertValid()).toThrow("Leadership of 'billing' (term 7) is lost");
    await expect(leadership.ended).resolves.toMatchObject({ reason: "taken" });
  });

  test("runs a task until the test ends its term politely, for good", async () => {
    const leadership = fakeLeadership();
    const billing = bill(leadership);
    leadership.resign();
    leadership.lose();
    await expect(billing).resolves.toBe("stopped politely");
    await expect(leadership.renew()).rejects.toMatchObject({ code: "LEADERSHIP_ENDED" });
    await expect(leadership.publish("late")).rejects.toMatchObject({ code: "LEADERSHIP_ENDED" });
  });
});

/** The control of time, which is another one in each test runner. */
interface FakeTimers {
  start(): void;
  pass(ms: number): Promise<unknown>;
  stop(): unknown;
}

const runners: Readonly<Record<string, FakeTimers>> = {
  // Jest's fake timers are those of @sinonjs/fake-timers, too, and are called the same.
  "Vitest and Jest": {
    start: () => vi.useFakeTimers(),
    pass: (ms) => vi.advanceTimersByTimeAsync(ms),
    stop: () => vi.useRealTimers(),
  },
  "node:test": {
    start: () => mock.timers.enable({ apis: ["setTimeout", "Date"] }),
    // Its tick runs timers, and waits for nothing that they start.
    async pass(ms) {
      for (let passedMs = 0; passedMs < ms; passedMs += 100) {
        mock.timers.tick(100);
        await turn();
      }
    },
    stop: () => mock.timers.reset(),
  },
};

describe.for(Object.entries(runners))("a TestLeaseStore under the fake timers of %s", ([, timers]) => {
  let store: TestLeaseStore;
  let elector: Elector;
  let stopped: string[];
  let running: Promise<unknown>;

  beforeEach(async () => {
    timers.start();
    store = new TestLeaseStore();
    elector = new Elector({ store, election: "billing", logger: false });
    stopped = [];
    running = elector.run(async (leadership) => void stopped.push(await bill(leadership)));
    await timers.pass(100);
  });

  afterEach(async () => {
    const ended = elector.stop();
    await timers.pass(20_000);
    await Promise.all([ended, running]);
    timers.stop();
  });

  test("elects a leader, whose value others read", async () => {
    expect(elector.isLeader).toBe(true);
    await timers.pass(60_000);
    expect(stopped).toEqual([]);
    await expect(store.read("billing")).resolves.toMatchObject({ state: "held", term: 1, value: "billing in term 1" });
  });

  test("takes a lease away, so that the task stops at the next renewal and leads again once the other's lease is over", async () => {
    await store.lose("billing");
    await timers.pass(elector.timing.renewIntervalMs);
    expect(stopped).toEqual(["stopped at once"]);
    expect(elector.isLeader).toBe(false);

    await timers.pass(30_000);
    expect(elector.isLeader).toBe(true);
    await expect(store.read("billing")).resolves.toMatchObject({ term: 3 });
  });

  test("fails until it recovers, so that the leader gives up by its deadline", async () => {
    store.fail("The network is down.");
    await timers.pass(elector.timing.leaseDurationMs);
    expect(stopped).toEqual(["stopped at once"]);
    await expect(store.read("billing")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", message: "The network is down." });

    store.recover();
    await timers.pass(30_000);
    expect(elector.isLeader).toBe(true);
  });

  test("keeps occurrences, which fail with it", async () => {
    const scheduledAt = Math.floor(Date.now() / 1_000) * 1_000;
    const nightly = { store, name: "nightly", scheduledAt, logger: false } as const;
    await expect(oncePerOccurrence(nightly, () => "billed")).resolves.toMatchObject({ ran: true });
    await expect(oncePerOccurrence(nightly, () => "again")).resolves.toEqual({ ran: false, reason: "done" });

    store.fail();
    const failing = oncePerOccurrence(nightly, () => "again");
    failing.catch(() => undefined);
    await timers.pass(5_000);
    await expect(failing).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });

  test("has no lease to take away if no candidate leads", async () => {
    await expect(store.lose("another")).rejects.toThrow("No candidate leads 'another'");
  });
});
