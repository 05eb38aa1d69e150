import { assertLeading, Elector, isLeaseholdError, MemoryLeaseStore, oncePerOccurrence } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";

let clock: VirtualClock;
let store: MemoryLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
});

/** Code deep below a task, to which no leadership is passed. */
async function deepBelow(): Promise<number> {
  await sleep(clock, 10);
  return assertLeading().term;
}

describe("assertLeading", () => {
  test("returns the leadership of the task that has started the code, in each of two tasks that run at once", async () => {
    await clock.runUntil(new Elector({ store, election: "one", clock }).tryRun(() => "term 1"));
    const tasks = ["one", "two"].map((election) => new Elector({ store, election, clock }).tryRun(deepBelow));
    const outcomes = await clock.runUntil(Promise.all(tasks));
    expect(outcomes).toMatchObject([{ result: 2 }, { result: 1 }]);
  });

  test("throws once the lease is lost, with the reason", async () => {
    let error: unknown;
    const run = new Elector({ store, election: "one", clock, logger: false }).tryRun(async ({ signal }) => {
      await sleep(clock, 60_000, signal).catch(() => undefined);
      error = await deepBelow().catch((thrown: unknown) => thrown);
    });
    await clock.advance(1_000);
    await store.break("one", { reason: "stuck", immediate: true });
    await clock.runUntil(run);
    expect(isLeaseholdError(error, "LEASE_LOST")).toBe(true);
  });

  test("throws outside of a task, also while this process leads", async () => {
    expect(() => assertLeading()).toThrow("assertLeading was called outside of a leader's task.");
    await using _ = await clock.runUntil(new Elector({ store, election: "one", clock }).campaign());
    expect(() => assertLeading()).toThrow("assertLeading was called outside of a leader's task.");
  });

  test("also throws if an occurrence with an overlap policy has lost only the schedule's election", async () => {
    const schedule = { store, name: "nightly", scheduledAt: clock.wallMs(), clock, overlap: "skip", logger: false } as const;
    let error: unknown;
    const run = oncePerOccurrence(schedule, async ({ signal }) => {
      await sleep(clock, 60_000, signal).catch(() => undefined);
      error = await deepBelow().catch((thrown: unknown) => thrown);
    });
    await clock.advance(1_000);
    await store.break("nightly", { reason: "stuck", immediate: true });
    await clock.runUntil(run);
    expect(isLeaseholdError(error, "LEASE_LOST")).toBe(true);
  });
});
