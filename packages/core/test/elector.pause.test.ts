import { Elector, MemoryLeaseStore, type LeaderTask } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { ELECTION } from "@leasehold/test-kit/acquisitions";

/** The shortest time between two terms, by design: a short real wait. */
const PAUSE_MS = 100;
/** The shortest time between two terms of a task that keeps returning at once: `retryPeriodMs`. */
const RETRY_MS = 2_000;
/** The terms at one instant after which a test ends itself, because a loop in microtasks would never end. */
const TOO_MANY = 200;

let clock: VirtualClock;
let store: MemoryLeaseStore;
beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
});

/** Records each start, and throws in a loop that lets no time pass. */
function counted(starts: number[], task: LeaderTask<unknown> = () => undefined): LeaderTask<unknown> {
  return (leadership) => {
    starts.push(clock.monotonicMs());
    if (starts.filter((ms) => ms === clock.monotonicMs()).length > TOO_MANY) throw new Error("No time passes between the terms.");
    return task(leadership);
  };
}

function gapsMs(starts: readonly number[]): number[] {
  return starts.slice(1).map((ms, at) => ms - starts[at]!);
}

describe("between two terms of one elector a short time passes, whatever the options", () => {
  test("if campaign returns none of the first terms, because each is resigned before", async () => {
    const starts: number[] = [];
    const elector = new Elector({ store, election: ELECTION, clock, cooldownMs: 0 });
    elector.on("startedLeading", () => {
      starts.push(clock.monotonicMs());
      if (starts.length < 4) void elector.resign();
    });

    const leadership = await clock.runUntil(elector.campaign());

    expect(leadership.term).toBe(4);
    for (const gapMs of gapsMs(starts)) expect(gapMs).toBeGreaterThanOrEqual(PAUSE_MS);
    await leadership.release();
  });

  test("on a store that answers at once, without a cooldown, if each task returns at once", async () => {
    const starts: number[] = [];
    const elector = new Elector({ store, election: ELECTION, clock, cooldownMs: 0 });
    const stopping = new AbortController();
    const running = elector.run(counted(starts), { signal: stopping.signal });

    await clock.advance(10_000);
    stopping.abort();
    await clock.runUntil(running);

    const [first, ...later] = gapsMs(starts);
    expect(first).toBe(PAUSE_MS);
    // After the second return at once.
    expect(later.map(Math.round)).toEqual([RETRY_MS, RETRY_MS, RETRY_MS, RETRY_MS]);
  });

  test("if two electors take the lease in turns, and each observes the other's newer term at once", async () => {
    const starts = { a: [] as number[], b: [] as number[] };
    const stopping = new AbortController();
    const runs = (["a", "b"] as const).map((candidateId) =>
      new Elector({ store, election: ELECTION, candidateId, clock }).run(counted(starts[candidateId]), stopping),
    );

    await clock.advance(10_000);
    stopping.abort();
    await clock.runUntil(Promise.all(runs));

    for (const of of [starts.a, starts.b]) {
      const [first = 0, ...later] = gapsMs(of);
      expect(first).toBeGreaterThan(PAUSE_MS - 1e-6);
      expect(later.length).toBeGreaterThan(2);
      expect(Math.min(...later)).toBeGreaterThan(RETRY_MS - 1e-6);
    }
  });

  test("if the caller runs again after each task that threw at once", async () => {
    const starts: number[] = [];
    const elector = new Elector({ store, election: ELECTION, clock, cooldownMs: 0 });
    const again = async (): Promise<void> => {
      while (starts.length < 20) {
        await elector.run(counted(starts, () => Promise.reject(new Error("of the task")))).catch(() => undefined);
      }
    };

    await clock.runUntil(again());

    expect(Math.min(...gapsMs(starts))).toBeGreaterThanOrEqual(PAUSE_MS);
  });

  test("a stop during the wait settles at once, and no more requests are sent", async () => {
    const watch = vi.spyOn(store, "watch");
    const elector = new Elector({ store, election: ELECTION, clock, cooldownMs: 0 });
    const stopping = new AbortController();
    const task = counted([], () => void setImmediate(() => stopping.abort()));
    const running = elector.run(task, { signal: stopping.signal });

    await running;

    expect(clock.pendingTimers).toBe(0);
    expect(watch).toHaveBeenCalledTimes(1);
  });
});
