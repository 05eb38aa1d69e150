import { getEventListeners } from "node:events";
import { MemoryLeaseStore, Observer, type Leader } from "@leasehold/core";
import { ProcessClock, VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, RETRY_PERIOD_MS } from "./election-world.ts";
import { Lines } from "./lines.ts";

let world: ElectionWorld;
beforeEach(() => {
  world = new ElectionWorld();
});

/** Collects the values that an observation yields. */
function collect(leaders: AsyncIterable<Leader | undefined>): {
  readonly seen: Array<Leader | undefined>;
  readonly ended: Promise<void>;
} {
  const seen: Array<Leader | undefined> = [];
  const ended = (async () => {
    for await (const leader of leaders) seen.push(leader);
  })();
  ended.catch(() => undefined);
  return { seen, ended };
}

/** `a1 held http://a` */
function brief(leader: Leader | undefined): string | undefined {
  return leader && [`${leader.candidateId}${leader.term}`, leader.state, leader.value].filter(Boolean).join(" ");
}

describe("an observer of a store that must be polled", () => {
  test("yields nobody, then the leader, its published value, its successor, and nobody again", async () => {
    const stopping = new AbortController();
    const reader = world.candidate("reader");
    const { seen, ended } = collect(reader.elector.observe(stopping));
    await world.clock.advance(3_000);
    const a = await world.candidate("a", { value: "http://a" }).elector.campaign();
    await world.clock.advance(12_000);
    await a.publish("http://a2");
    await world.clock.advance(12_000);
    await a.release();
    await world.clock.advance(3_000);
    const b = await world.candidate("b").elector.campaign();
    await world.clock.advance(3_000);
    await b.release();
    await world.clock.advance(3_000);

    stopping.abort();
    await ended;

    const certain = seen.map(brief).filter((leader) => !leader?.includes("unknown"));
    expect(certain).toEqual([undefined, "a1 held http://a", "a1 held http://a2", undefined, "b2 held", undefined]);
    expect(world.service.count("reader", "put")).toBe(0);
    expect(world.clock.pendingTimers).toBe(0);
    expect(getEventListeners(stopping.signal, "abort")).toHaveLength(0);
  });

  test("yields an unknown state at first, and held once it has observed a renewal", async () => {
    const run = world.candidate("a").run();
    await world.clock.advance(7_000);
    const stopping = new AbortController();
    const { seen, ended } = collect(world.candidate("reader").elector.observe(stopping));

    await world.clock.advance(10_000);

    expect(seen.map(brief)).toEqual(["a1 unknown", "a1 held"]);
    stopping.abort();
    run.stop();
    await Promise.all([ended, run.settled]);
  });

  test("yields a crashed leader until its lease expires, and then nobody", async () => {
    const process = new ProcessClock(world.clock);
    world.candidate("a", { clock: process }).run();
    const stopping = new AbortController();
    const { seen, ended } = collect(world.candidate("reader").elector.observe(stopping));
    await world.clock.advance(60_000);

    process.kill();
    await world.clock.advance(LEASE_MS + RETRY_PERIOD_MS);

    expect(brief(seen.at(-1))).toBeUndefined();
    expect(seen.length).toBeGreaterThan(1);
    stopping.abort();
    await ended;
  });

  test("goes on after an outage, in which it yields nothing", async () => {
    const a = await world.candidate("a").elector.campaign();
    const reader = world.candidate("reader");
    const stopping = new AbortController();
    const { seen, ended } = collect(reader.elector.observe(stopping));
    await world.clock.advance(12_000);
    const before = seen.length;

    reader.records.failAll({ kind: "unavailable" });
    const sent = world.service.count("reader");
    await world.clock.advance(60_000);
    expect(seen).toHaveLength(before);
    expect(world.service.count("reader") - sent).toBeLessThanOrEqual(61);

    reader.records.heal();
    await a.release();
    await world.clock.advance(RETRY_PERIOD_MS);
    expect(seen.at(-1)).toBeUndefined();
    stopping.abort();
    await ended;
  });

  test("ends when its signal aborts, even while the store hangs", async () => {
    const reader = world.candidate("reader");
    reader.records.failAll({ kind: "lost" });
    const stopping = new AbortController();
    const logger = new Lines();
    const observer = new Observer({ store: reader.store, election: ELECTION, clock: world.clock, logger });
    const { ended } = collect(observer.observe(stopping));
    await world.clock.advance(1_000);

    stopping.abort();

    await expect(ended).resolves.toBeUndefined();
    // The abort ends the request, so it does not count as a store failure.
    expect(logger.all).toEqual([]);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("ends when the loop is left", async () => {
    const { signal } = new AbortController();
    const observer = new Observer({ store: world.candidate("reader").store, election: ELECTION, clock: world.clock });

    for await (const leader of observer.observe({ signal })) {
      expect(leader).toBeUndefined();
      break;
    }

    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    await world.clock.advance(10_000);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("adds only one listener to the caller's signal, for any number of polls", async () => {
    world.candidate("a").run();
    const stopping = new AbortController();
    const adding = vi.spyOn(stopping.signal, "addEventListener");
    const { ended } = collect(world.candidate("reader", { latencyMs: 10 }).elector.observe(stopping));

    await world.clock.advance(60_000);

    expect(world.service.count("reader")).toBeGreaterThan(20);
    expect(adding).toHaveBeenCalledTimes(1);
    stopping.abort();
    await ended;
  });

  test("goes on after a poll without a reply within attemptTimeoutMs", async () => {
    const reader = world.candidate("reader");
    const observer = new Observer({ store: reader.store, election: ELECTION, clock: world.clock, attemptTimeoutMs: 700 });
    reader.records.failNext("get", { kind: "lost" });
    const stopping = new AbortController();
    const { seen, ended } = collect(observer.observe(stopping));

    await world.clock.advance(700 + RETRY_PERIOD_MS);

    expect(seen).toEqual([undefined]);
    stopping.abort();
    await ended;
  });
});

describe("an observer of a store that pushes", () => {
  test("is woken by each change of the leader, and finds a published value by its polls", async () => {
    const clock = new VirtualClock();
    const store = new MemoryLeaseStore({ clock });
    const stopping = new AbortController();
    const { seen, ended } = collect(new Observer({ store, election: ELECTION, clock }).observe(stopping));
    await clock.settle();

    const lease = await win(store, { value: "http://a" });
    await clock.settle();
    expect(seen.map(brief)).toEqual([undefined, "a1 held http://a"]);
    await store.publish(lease, "http://a2", LIMITS);
    await clock.settle();
    expect(seen).toHaveLength(2);
    await clock.advance(LEASE_MS / 3);
    expect(seen.map(brief).slice(2)).toEqual(["a1 held http://a2"]);
    await store.release(lease, LIMITS);
    await clock.settle();

    expect(seen.map(brief).slice(3)).toEqual([undefined]);
    stopping.abort();
    await ended;
    expect(clock.pendingTimers).toBe(0);
  });

  test("finds a leader's crash when its lease expires, which no store pushes", async () => {
    const clock = new VirtualClock();
    const store = new MemoryLeaseStore({ clock });
    const stopping = new AbortController();
    const { seen, ended } = collect(new Observer({ store, election: ELECTION, clock }).observe(stopping));
    await win(store);

    await clock.advance(LEASE_MS + 10);

    expect(seen.map(brief)).toEqual([undefined, "a1 held", undefined]);
    stopping.abort();
    await ended;
  });

  test("polls while the push is broken", async () => {
    const clock = new VirtualClock();
    const store = new MemoryLeaseStore({ clock });
    Object.defineProperty(store, "watch", {
      value: () => {
        throw new Error("stream closed");
      },
    });
    const stopping = new AbortController();
    const { seen, ended } = collect(new Observer({ store, election: ELECTION, clock }).observe(stopping));
    await clock.advance(1_000);

    const lease = await win(store);
    await clock.advance(RETRY_PERIOD_MS);
    expect(seen.map(brief)).toEqual([undefined, "a1 held"]);
    await store.release(lease, LIMITS);
    await clock.advance(RETRY_PERIOD_MS);

    expect(seen.map(brief)).toEqual([undefined, "a1 held", undefined]);
    stopping.abort();
    await ended;
    expect(clock.pendingTimers).toBe(0);
  });
});

test("an observer of a store that pushes polls once each renewal", async () => {
  const clock = new VirtualClock();
  const store = new MemoryLeaseStore({ clock });
  const lease = await win(store);
  const read = vi.spyOn(store, "read");
  const stopping = new AbortController();
  const { ended } = collect(new Observer({ store, election: ELECTION, clock }).observe(stopping));
  for (let renewals = 0; renewals < 10; renewals += 1) {
    await clock.advance(LEASE_MS / 3);
    await store.renew(lease, LIMITS);
  }

  // Also one poll at the start, and one when its watch works.
  expect(read.mock.calls.length).toBeLessThanOrEqual(10 + 3);
  expect(read.mock.calls.length).toBeGreaterThanOrEqual(10);
  stopping.abort();
  await ended;
});
