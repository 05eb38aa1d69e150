import { LeadershipEndedError, sleep } from "@leasehold/core/provider";
import type { ElectorEvents } from "@leasehold/core";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, RENEW_INTERVAL_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, RENEW_DEADLINE_MS } from "./election-world.ts";
import { StubbornTask } from "@leasehold/test-kit/leader-tasks";

let world: ElectionWorld;
beforeEach(() => {
  world = new ElectionWorld();
});

describe("events", () => {
  test("report a candidate's states in order", async () => {
    const a = world.candidate("a", { value: "http://a" });
    const task = new StubbornTask();
    const run = a.run(task.run);
    await world.clock.advance(RENEW_INTERVAL_MS);
    void a.elector.resign();
    task.settle();
    await world.clock.settle();
    run.stop();
    await run.settled;

    expect(a.events.names()).toEqual([
      "standby",
      "newLeader",
      "startedLeading",
      "renewed",
      "ending",
      "newLeader",
      "stoppedLeading",
      "standby",
    ]);
    const term = { election: ELECTION, term: 1 };
    const reason = expect.any(LeadershipEndedError) as Error;
    expect(a.events.all("startedLeading")).toEqual([term]);
    expect(a.events.all("renewed")).toEqual([term]);
    expect(a.events.all("ending")).toEqual([{ ...term, reason }]);
    expect(a.events.all("stoppedLeading")).toEqual([{ ...term, reason, released: true }]);
    expect(a.events.all("newLeader")).toEqual([
      { election: ELECTION, leader: { candidateId: "a", term: 1, value: "http://a", state: "held" } },
      { election: ELECTION, leader: undefined },
    ]);
  });

  test("a term whose task returns by itself ends without a reason", async () => {
    const a = world.candidate("a");
    await a.elector.tryRun(() => undefined);

    expect(a.events.all("stoppedLeading")).toEqual([{ election: ELECTION, term: 1, reason: undefined, released: true }]);
    expect(a.events.names("ending")).toEqual([]);
  });

  test("a failed renewal is reported with its error", async () => {
    const a = world.candidate("a");
    const run = a.run();
    await world.clock.advance(1_000);
    a.records.failNext("put", { kind: "unavailable" });
    await world.clock.advance(RENEW_INTERVAL_MS);

    expect(a.events.all("renewFailed")).toMatchObject([{ election: ELECTION, term: 1, error: { code: "STORE_UNAVAILABLE" } }]);
    expect(a.events.names("renewed", "renewFailed")).toEqual(["renewFailed", "renewed"]);
    run.stop();
    await run.settled;
  });

  test("a renewal that does not extend the lease is not reported", async () => {
    const a = world.candidate("a");
    a.store.renew = async ({ grantedAt }) => {
      await sleep(world.clock, 100);
      return { held: true, extendedAt: grantedAt };
    };
    const run = a.run();
    await world.clock.advance(RENEW_DEADLINE_MS);

    expect(a.events.names("renewed", "ending")).toEqual(["ending"]);
    run.stop();
    await world.clock.runUntil(run.settled);
  });

  test("a renewal whose reply comes after the task has settled is not reported", async () => {
    const a = world.candidate("a", { latencyMs: 200 });
    const task = new StubbornTask();
    const run = a.run(task.run);
    await world.clock.advance(RENEW_INTERVAL_MS + 300);
    task.settle();
    await world.clock.advance(1_000);

    expect(a.events.names("renewed", "stoppedLeading")).toEqual(["stoppedLeading"]);
    run.stop();
    await run.settled;
  });

  test("a removed listener is not called", async () => {
    const { elector } = world.candidate("a");
    const heard: unknown[] = [];
    const remove = elector.on("startedLeading", (event) => heard.push(event));
    await elector.tryRun(() => undefined);
    remove();
    await elector.tryRun(() => undefined);

    expect(heard).toEqual([{ election: ELECTION, term: 1 }]);
  });
});

describe("listeners", () => {
  test("get startedLeading before the task runs, and stoppedLeading after it has settled", async () => {
    const order: string[] = [];
    const task = new StubbornTask();
    const a = world.candidate("a");
    a.elector.on("startedLeading", ({ term }) => order.push(`started ${term}`));
    a.elector.on("stoppedLeading", ({ term, reason }) => order.push(`stopped ${term} ${String(reason?.message)}`));
    const run = a.run((leadership) => {
      order.push("task");
      leadership.signal.addEventListener("abort", () => order.push("signal"));
      return task.run(leadership);
    });
    await world.clock.advance(1_000);

    run.stop(new Error("shutting down"));
    await world.clock.advance(3_000);
    expect(order).toEqual(["started 1", "task", "signal"]);

    task.settle();
    await run.settled;
    expect(order).toEqual(["started 1", "task", "signal", "stopped 1 shutting down"]);
  });

  test.each<keyof ElectorEvents>(["standby", "startedLeading", "renewed", "ending", "stoppedLeading", "newLeader"])(
    "one for %s that throws, at once or later, is an event and never a change of leadership",
    async (event) => {
      for (const fail of [
        () => {
          throw new Error("mine");
        },
        () => Promise.reject(new Error("mine")),
      ]) {
        const calm = new ElectionWorld();
        const a = calm.candidate("a");
        a.elector.on(event, fail);
        const run = a.run();
        await calm.clock.advance(60_000);
        expect(a.elector.isLeader).toBe(true);

        run.stop();
        await run.settled;
        await calm.clock.settle();

        const failures = a.events.all("listenerFailed");
        expect(failures.length).toBeGreaterThan(0);
        for (const failure of failures) expect(failure).toEqual({ election: ELECTION, event, error: new Error("mine") });
      }
    },
  );

  test("a listener for listenerFailed that throws changes nothing", async () => {
    const a = world.candidate("a");
    a.elector.on("startedLeading", () => {
      throw new Error("first");
    });
    a.elector.on("listenerFailed", () => {
      throw new Error("mine");
    });
    const run = a.run();
    await world.clock.advance(60_000);

    expect(a.elector.isLeader).toBe(true);
    expect(a.events.all("listenerFailed")).toHaveLength(1);
    run.stop();
    await expect(run.settled).resolves.toBeUndefined();
  });

  test("may resign, or stop the elector", async () => {
    const stopping = new AbortController();
    const a = world.candidate("a");
    a.elector.on("startedLeading", () => stopping.abort("enough"));

    await a.elector.run(
      async ({ signal }) => {
        signal.throwIfAborted();
        await new Promise(() => undefined);
      },
      { signal: stopping.signal },
    );

    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
    expect(world.clock.pendingTimers).toBe(0);
  });
});
