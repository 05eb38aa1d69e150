import { ElectorBusyError, type Leadership } from "@leasehold/core";
import { LeadershipEndedError, sleep } from "@leasehold/core/provider";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, PROOFS, RENEW_DEADLINE_MS, type Candidate } from "./election-world.ts";
import { StubbornTask, untilAborted } from "@leasehold/test-kit/leader-tasks";

let world: ElectionWorld;
let a: Candidate;

beforeEach(() => {
  world = new ElectionWorld();
  a = world.candidate("a");
});

describe("run", () => {
  test("campaigns, leads, and when its signal aborts drains, releases and resolves", async () => {
    const reason = new Error("shutting down");
    const task = new StubbornTask();
    const run = a.run(task.run);
    await world.clock.advance(60_000);
    expect(a.elector.isLeader).toBe(true);
    expect(task.leadership).toMatchObject({ election: ELECTION, candidateId: "a", term: 1 });

    run.stop(reason);
    expect(task.leadership.signal.reason).toBe(reason);
    expect(task.leadership.isValid()).toBe(true);
    task.settle();
    await run.settled;

    expect(a.elector.isLeader).toBe(false);
    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("ends at once without an attempt if it stops while it waits", async () => {
    const leader = world.candidate("leader");
    const leading = leader.run();
    await world.clock.advance(1_000);
    const run = a.run();
    await world.clock.advance(60_000);

    run.stop();
    await run.settled;

    expect(world.service.count("a", "put")).toBe(PROOFS);
    leading.stop();
    await leading.settled;
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("ends at once even while the store hangs", async () => {
    a.records.failAll({ kind: "lost" });
    const run = a.run();
    await world.clock.advance(100);

    run.stop();

    await run.settled;
    expect(world.clock.pendingTimers).toBe(0);
  });
});

describe("a task that ends, ends its term", () => {
  test("by returning: the lease is released, and the next term is another one", async () => {
    const terms: number[] = [];
    const run = a.run(({ term }) => void terms.push(term));

    await world.clock.advance(1_000);
    expect(terms).toEqual([1]);
    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });

    await world.clock.advance(60_000);
    expect(terms.length).toBeGreaterThan(2);
    expect(terms).toEqual(terms.map((_, index) => index + 1));
    run.stop();
    await run.settled;
  });

  test("without a way to dispose of its leadership, in JavaScript either", async () => {
    const run = a.run(async (leadership) => {
      expect(Object.hasOwn(leadership, "release") || Symbol.asyncDispose in leadership).toBe(false);
      await using own = leadership as unknown as AsyncDisposable;
      void own;
    });

    await expect(world.clock.runUntil(run.settled, 1_000)).rejects.toBeInstanceOf(TypeError);
    expect(world.service.record(ELECTION)).toMatchObject({ termId: null });
  });

  test("by returning: its signal aborts, so that the work that it started stops", async () => {
    let left: Leadership | undefined;
    const run = a.run((leadership) => void (left = leadership));
    await world.clock.advance(1_000);

    expect(left!.signal.aborted).toBe(true);
    expect(left!.signal.reason).toMatchObject({ code: "LEADERSHIP_ENDED", reason: "released", term: 1 });
    expect(left!.isValid()).toBe(false);
    expect(() => left!.assertValid()).toThrow(LeadershipEndedError);
    run.stop();
    await run.settled;
  });

  test.each([
    [
      "at once",
      () => {
        throw new Error("disk full");
      },
    ],
    ["later", () => Promise.reject(new Error("disk full"))],
  ])("by throwing %s: run rejects with that very error, after the release", async (_, task) => {
    const run = a.run(task);

    await expect(run.settled).rejects.toThrow(new Error("disk full"));

    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
    expect(a.elector.isLeader).toBe(false);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("an AbortError before the signal has aborted is no return: run rejects with it", async () => {
    const run = a.run(() => Promise.reject(new DOMException("my own", "AbortError")));

    await expect(world.clock.runUntil(run.settled, 1_000)).rejects.toThrow("my own");
  });

  test("a value that is not a task is refused before any request", async () => {
    const before = world.service.log.length;
    await expect(a.elector.run("task" as never)).rejects.toMatchObject({ code: "CONFIGURATION" });
    await expect(a.elector.tryRun("task" as never)).rejects.toMatchObject({ code: "CONFIGURATION" });
    expect(world.service.log).toHaveLength(before);
  });

  test("after the abort, any other error still ends run", async () => {
    const task = new StubbornTask();
    const run = a.run(task.run);
    await world.clock.advance(1_000);

    run.stop();
    task.fail(new Error("could not save"));

    await expect(run.settled).rejects.toThrow("could not save");
  });

  test("a task that stops by an error of assertValid in an outage does not end run", async () => {
    // The task ignores the signal and calls `assertValid`, which throws only some seconds after the signal has aborted.
    const run = a.run(async (leadership) => {
      for (;;) {
        leadership.assertValid();
        await sleep(world.clock, 100);
      }
    });
    await world.clock.advance(1_000);
    a.records.failAll({ kind: "unavailable" });
    await world.clock.advance(2 * LEASE_MS);
    a.records.heal();

    await world.clock.advance(2 * LEASE_MS);

    expect(a.elector.isLeader).toBe(true);
    run.stop();
    // `assertValid` does not throw while the lease is renewed for the drain, so this task goes on.
    await expect(world.clock.runUntil(run.settled)).rejects.toMatchObject({ code: "DRAIN_TIMEOUT" });
  });
});

describe("one thing at a time", () => {
  test.each(["run", "campaign"] as const)("%s on a busy elector is an error that says with what it is busy", async (call) => {
    const run = a.run();
    await world.clock.advance(1_000);
    const sent = world.service.log.length;

    const calling = call === "campaign" ? a.elector.campaign() : a.elector[call](untilAborted);
    const error: unknown = await calling.catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(ElectorBusyError);
    expect(error).toMatchObject({ code: "ELECTOR_BUSY", election: ELECTION });
    expect(String(error)).toContain("busy with run");
    expect(world.service.log).toHaveLength(sent);
    run.stop();
    await run.settled;
  });

  test("tryRun and tryCampaign on a busy elector are not elected, and send nothing", async () => {
    const run = a.run();
    await world.clock.advance(1_000);
    const sent = world.service.log.length;

    expect(await a.elector.tryRun(untilAborted)).toEqual({ elected: false, reason: "busy" });
    expect(await a.elector.tryCampaign()).toBeUndefined();

    expect(world.service.log).toHaveLength(sent);
    run.stop();
    await run.settled;
  });

  test("a second task is never started while the first is pending, though the lease is long lost", async () => {
    const task = new StubbornTask();
    const run = a.run(task.run);
    await world.clock.advance(1_000);
    a.records.failAll({ kind: "unavailable" });
    await world.clock.advance(RENEW_DEADLINE_MS + LEASE_MS);
    a.records.heal();
    const sent = world.service.log.length;

    await world.clock.advance(10 * LEASE_MS);
    expect(task.leaderships).toHaveLength(1);
    expect(world.service.log).toHaveLength(sent);

    task.settle();
    await world.clock.advance(LEASE_MS);
    expect(task.leaderships).toHaveLength(2);
    run.stop();
    task.settle();
    await run.settled;
  });
});
