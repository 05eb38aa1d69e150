import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, type Candidate } from "./election-world.ts";
import { StubbornTask, untilAborted } from "@leasehold/test-kit/leader-tasks";

let world: ElectionWorld;
let a: Candidate;
let b: Candidate;

beforeEach(() => {
  world = new ElectionWorld();
  a = world.candidate("a", { value: "http://a" });
  b = world.candidate("b");
});

describe("tryRun", () => {
  test("runs the task if it can lead at once, and returns its result after the release", async () => {
    const outcome = await b.elector.tryRun((leadership) => ({ term: leadership.term, valid: leadership.isValid() }));

    expect(outcome).toEqual({ elected: true, term: 1, result: { term: 1, valid: true } });
    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("keeps the lease while the task takes its time", async () => {
    const task = new StubbornTask();
    const trying = b.elector.tryRun(task.run);
    await world.clock.advance(10 * LEASE_MS);
    expect(task.leadership.isValid()).toBe(true);

    task.settle();

    expect(await trying).toEqual({ elected: true, term: 1, result: undefined });
  });

  test("does not wait if another candidate leads, returns that leader, and writes nothing", async () => {
    const run = a.run();
    await world.clock.advance(1_000);
    const startMs = world.clock.monotonicMs();

    const outcome = await b.elector.tryRun(() => "ran");

    expect(outcome).toEqual({ elected: false, leader: { candidateId: "a", term: 1, value: "http://a", state: "unknown" } });
    expect(world.clock.monotonicMs()).toBe(startMs);
    expect([world.service.count("b", "get"), world.service.count("b", "put")]).toEqual([1, 0]);
    run.stop();
    await run.settled;
  });

  test("rejects with the task's error, after the release", async () => {
    await expect(b.elector.tryRun(() => Promise.reject(new Error("disk full")))).rejects.toThrow("disk full");

    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
  });

  test("rejects if the store fails, and does not lead", async () => {
    b.records.failNext("get", { kind: "unavailable" });
    await expect(b.elector.tryRun(untilAborted)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });

    b.records.failNext("put", { kind: "throttled", retryAfterMs: 100 });
    await expect(b.elector.tryRun(untilAborted)).rejects.toMatchObject({ code: "STORE_THROTTLED" });

    expect(b.events.names("startedLeading")).toEqual([]);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test.each(["get", "put"] as const)("tries once more if a kept connection broke at a %s, as after a thaw", async (operation) => {
    await b.elector.tryRun(() => undefined);
    b.records.failNext(operation, { kind: "unavailable" });

    await expect(b.elector.tryRun(() => "ran")).resolves.toMatchObject({ elected: true, result: "ran" });
    b.records.failNext(operation, { kind: "unavailable" });
    const leadership = await b.elector.tryCampaign();
    expect(leadership?.isValid()).toBe(true);
    await leadership?.release();
  });

  test("does not try again in an outage, except in the first call", async () => {
    await b.elector.tryRun(() => undefined);
    b.records.failAll({ kind: "unavailable" });
    const before = world.service.count("b", "get");
    for (let calls = 0; calls < 3; calls += 1) {
      await expect(b.elector.tryRun(() => "ran")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    }
    expect(world.service.count("b", "get") - before).toBe(1 + 3);
  });

  test("does not try again if the store does not answer in time", async () => {
    await b.elector.tryRun(() => undefined);
    b.records.failNext("get", { kind: "lost" });

    await expect(world.clock.runUntil(b.elector.tryRun(() => "ran"))).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    expect(world.service.count("b", "get")).toBeLessThanOrEqual(2);
  });

  test("sends no attempt if the poll has shown that it cannot succeed", async () => {
    const leadership = await a.elector.campaign();
    let attempts = 0;
    const acquire = b.store.acquire.bind(b.store);
    b.store.acquire = (request) => {
      attempts += 1;
      return acquire(request);
    };

    await expect(b.elector.tryRun(untilAborted)).resolves.toMatchObject({ elected: false });
    expect(attempts).toBe(0);
    await leadership.release();
  });

  test("rejects with the signal's reason if it aborts during the poll", async () => {
    const controller = new AbortController();
    b.records.failNext("get", { kind: "lost" });
    const trying = b.elector.tryRun(untilAborted, { signal: controller.signal });

    controller.abort("enough");

    await expect(trying).rejects.toBe("enough");
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("returns no result for a task that rejected because its signal aborted", async () => {
    const controller = new AbortController();
    const trying = b.elector.tryRun(
      async (leadership) => {
        await untilAborted(leadership);
        leadership.signal.throwIfAborted();
        return "done";
      },
      { signal: controller.signal },
    );
    await world.clock.advance(1_000);

    controller.abort(new Error("shutting down"));

    expect(await trying).toEqual({ elected: true, term: 1, result: undefined });
  });

  test("has no cooldown: each call is the caller's own decision", async () => {
    const outcomes = [await b.elector.tryRun(() => 1), await b.elector.tryRun(() => 2)];

    expect(outcomes).toEqual([
      { elected: true, term: 1, result: 1 },
      { elected: true, term: 2, result: 2 },
    ]);
  });

  test("loses a race without an error, and returns the winner if the store shows it", async () => {
    await a.elector.tryRun(() => undefined);
    await b.elector.tryRun(() => undefined);
    b.records.failNext("put", { kind: "slow", latencyMs: 400 });
    const trying = b.elector.tryRun(() => "ran");
    await world.clock.settle();
    const winner = await a.elector.campaign();

    expect(await world.clock.runUntil(trying)).toMatchObject({ elected: false, leader: { candidateId: "a", term: 3 } });
    expect(winner.isValid()).toBe(true);
    await winner.release();
    b.store.acquire = () => Promise.resolve({ acquired: false, current: undefined });
    expect(await b.elector.tryRun(() => "ran")).toEqual({ elected: false });
  });

  test("throws if the record shows a lower term than was observed", async () => {
    for (let terms = 0; terms < 2; terms += 1) await a.elector.tryRun(() => undefined);
    world.service.remove(ELECTION);
    const leadership = await b.elector.campaign();

    await expect(a.elector.tryRun(() => "ran")).rejects.toMatchObject({
      code: "TERM_REGRESSED",
      foundTerm: 1,
      highestTermSeen: 2,
    });
    await leadership.release();
  });
});
