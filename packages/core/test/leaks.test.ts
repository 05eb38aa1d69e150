import { getEventListeners } from "node:events";
import { Elector, MemoryLeaseStore } from "@leasehold/core";
import { MemoryRecordStore, RecordLeaseStore, sleep } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld } from "./election-world.ts";
import { RecordService } from "./faulty-record-store.ts";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

const TIMES = 2_000;
/** With one name every other second, this many names last for more than five hours. */
const NAMES = 10_000;

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** Returns a list of every map that is created from now on, until the globals are restored. */
function trackMapsFromNow(): ReadonlyArray<ReadonlyMap<unknown, unknown>> {
  const maps: Array<Map<unknown, unknown>> = [];
  class TrackedMap<K, V> extends Map<K, V> {
    constructor(entries?: Iterable<readonly [K, V]> | null) {
      super(entries);
      maps.push(this);
    }
  }
  vi.stubGlobal("Map", TrackedMap);
  return maps;
}

/** Tracks all maps that `make` creates. */
function trackMaps<T>(make: () => T): { readonly made: T; readonly sizes: () => number[] } {
  const maps = trackMapsFromNow();
  const made = make();
  vi.unstubAllGlobals();
  return { made, sizes: () => maps.map(({ size }) => size) };
}

describe(`leaks, after ${TIMES} times`, () => {
  test("campaigns on a store that pushes leave no timer, no listener, and one entry per election", async () => {
    const clock = new VirtualClock();
    const { made: store, sizes } = trackMaps(() => new MemoryLeaseStore({ clock }));
    const elector = new Elector({ store, election: ELECTION, clock, cooldownMs: 0 });
    const { signal } = new AbortController();

    for (let times = 0; times < TIMES; times += 1) {
      const leadership = await elector.campaign({ signal });
      await leadership.release();
    }
    await clock.settle();

    expect(clock.pendingTimers).toBe(0);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    expect(sizes().length).toBeGreaterThanOrEqual(4);
    expect(Math.max(...sizes())).toBeLessThanOrEqual(1);
    expect((await store.read(ELECTION))?.term).toBe(TIMES);
  });

  test(`elections of ${NAMES} names, one every other second, leave what was seen of some thousands`, async () => {
    const clock = new VirtualClock();
    const service = new RecordService(clock);
    const { made: store, sizes } = trackMaps(() => new RecordLeaseStore(service.connect("a"), { clock }));
    const maps = trackMapsFromNow();

    for (let times = 0; times < NAMES; times += 1) {
      const election = `${ELECTION} ${times}`;
      await new Elector({ store, election }).tryRun(() => undefined);
      await store.read(`${election} that nobody competes in`);
      clock.freeze(2_000);
    }
    await clock.settle();

    // At most the records of both electors from an hour or two, and the terms that the first one has recorded.
    expect(Math.max(...sizes())).toBeLessThanOrEqual(7_200);
    expect(Math.max(...maps.map(({ size }) => size))).toBeLessThanOrEqual(3_600);
  });

  test("campaigns on a store that must be polled leave none, either", async () => {
    const clock = new VirtualClock();
    const service = new RecordService(clock);
    const { made: store, sizes } = trackMaps(() => new RecordLeaseStore(service.connect("a"), { clock }));
    const elector = new Elector({ store, election: ELECTION, clock, cooldownMs: 0 });
    const { signal } = new AbortController();

    for (let times = 0; times < TIMES; times += 1) {
      await using leadership = await elector.campaign({ signal });
      leadership.assertValid();
      service.log.length = 0;
    }

    expect(clock.pendingTimers).toBe(0);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    expect(sizes().length).toBeGreaterThanOrEqual(2);
    expect(Math.max(...sizes())).toBeLessThanOrEqual(1);
  });

  test("tryRun that is not elected leaves nothing", async () => {
    const world = new ElectionWorld();
    const leader = await world.candidate("leader").elector.campaign();
    const { elector } = world.candidate("a");
    const { signal } = new AbortController();
    const timers = world.clock.pendingTimers;

    for (let times = 0; times < TIMES; times += 1) {
      expect((await elector.tryRun(untilAborted, { signal })).elected).toBe(false);
      world.service.log.length = 0;
    }

    expect(world.clock.pendingTimers).toBe(timers);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    await leader.release();
  });

  test("campaigns that are given up while waiting leave nothing", async () => {
    const world = new ElectionWorld();
    const leader = await world.candidate("leader").elector.campaign();
    const { elector } = world.candidate("a");
    const timers = world.clock.pendingTimers;
    const listeners: number[] = [];

    for (let times = 0; times < TIMES / 10; times += 1) {
      const controller = new AbortController();
      const campaigning = elector.campaign(controller);
      await world.clock.settle();
      controller.abort();
      await campaigning.catch(() => undefined);
      listeners.push(getEventListeners(controller.signal, "abort").length);
    }

    expect(world.clock.pendingTimers).toBe(timers);
    expect(Math.max(...listeners)).toBe(0);
    await leader.release();
  });

  test("observations leave nothing", async () => {
    const clock = new VirtualClock();
    const { made: store, sizes } = trackMaps(() => new MemoryLeaseStore({ clock }));
    const elector = new Elector({ store, election: ELECTION, clock });
    const { signal } = new AbortController();

    for (let times = 0; times < TIMES / 10; times += 1) {
      const observation = elector.observe({ signal });
      await observation.next();
      await observation.return();
    }
    await clock.settle();

    expect(clock.pendingTimers).toBe(0);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    expect(Math.max(...sizes())).toBeLessThanOrEqual(1);
  });
});

test("a watch that ends leaves nothing, and another of its election goes on", async () => {
  const clock = new VirtualClock();
  const { made: records, sizes } = trackMaps(() => new MemoryRecordStore(clock));
  const endings = [new AbortController(), new AbortController()];
  const wakes = endings.map(() => 0);
  for (const [at, { signal }] of endings.entries()) {
    void (async () => {
      for await (const _ of records.watch(ELECTION, { signal })) wakes[at]! += 1;
    })();
  }
  await clock.settle();
  endings[0]!.abort();
  await win(new RecordLeaseStore(records, { clock }));
  await clock.settle();
  // The first wake-up says that the watch works.
  expect(wakes).toEqual([1, 2]);

  endings[1]!.abort();
  await clock.settle();
  // Its record is left.
  expect(sizes().toSorted((one, other) => one - other)).toEqual([0, 1]);
});

describe("leaks, over a long life", () => {
  test("a term remembers a nonce or two, however many it has sent, and whatever has become of them", async () => {
    const clock = new VirtualClock();
    const service = new RecordService(clock);
    const maps = trackMapsFromNow();
    const records = service.connect("a", { clock });
    const store = new RecordLeaseStore(records, { clock });
    const lease = await win(store);
    vi.unstubAllGlobals();

    for (let times = 0; times < TIMES; times += 1) {
      if (times % 100 === 0) {
        records.failNext("put", { kind: "unanswered" });
        await clock.runUntil(store.renew(lease, LIMITS)).catch(() => undefined);
      }
      await store.renew(lease, LIMITS);
      service.log.length = 0;
    }

    expect(maps.length).toBeGreaterThanOrEqual(3);
    expect(Math.max(...maps.map(({ size }) => size))).toBeLessThanOrEqual(2);
  });

  test("a day of terms under one signal keeps one listener on it, and a handful of timers, and of listeners on any other", async () => {
    const world = new ElectionWorld();
    const a = world.candidate("a");
    const listening = vi.spyOn(EventTarget.prototype, "addEventListener");
    const run = a.run(({ signal }) => sleep(world.clock, LEASE_MS, signal));

    for (let hours = 0; hours < 24; hours += 1) {
      await world.clock.advance(3_600_000);
      world.service.log.length = 0;
      const listeners = [...new Set(listening.mock.contexts as EventTarget[])].map(
        (heard) => getEventListeners(heard, "abort").length,
      );
      listening.mockClear();
      expect(getEventListeners(run.signal, "abort").length).toBeLessThanOrEqual(1);
      expect(Math.max(...listeners)).toBeLessThanOrEqual(5);
      expect(world.clock.pendingTimers).toBeLessThanOrEqual(5);
    }

    expect(world.service.record(ELECTION)!.term).toBeGreaterThan(4_000);
    run.stop();
    await run.settled;
    expect(world.clock.pendingTimers).toBeLessThanOrEqual(1);
  });
});
