import { ElectorBusyError } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION } from "@leasehold/test-kit/acquisitions";
import { StubbornTask, untilAborted } from "@leasehold/test-kit/leader-tasks";
import { ElectionWorld, type Candidate } from "./election-world.ts";
import { Lines } from "./lines.ts";
import { checkStopOn } from "../src/election/stop-signals.ts";

let world: ElectionWorld;
let a: Candidate;

beforeEach(() => {
  world = new ElectionWorld();
  a = world.candidate("a");
});

/** Waits for a call, and returns its outcome. */
async function settled(call: Promise<unknown>): Promise<unknown> {
  return await world.clock.runUntil(call.then(() => "resolved")).catch((error: unknown) => error);
}

describe("stop", () => {
  test("ends a run that was given no signal: drains, releases, and resolves after that", async () => {
    const task = new StubbornTask();
    const running = a.elector.run(task.run);
    await world.clock.advance(1_000);
    let stopped = false;
    const stopping = a.elector.stop().then(() => (stopped = true));
    await world.clock.advance(5_000);
    expect([task.leadership.signal.aborted, task.leadership.isValid(), stopped]).toEqual([true, true, false]);

    task.settle();
    await Promise.all([running, stopping]);

    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
  });

  test("follows a process signal of stopOn; a second signal has its usual effect", async () => {
    const before = process.listenerCount("SIGUSR2");
    const others = Array.from({ length: 12 }, (_, other) => world.candidate(`other-${other}`, { election: `e${other}` }));
    const runs = others.map(async ({ elector }) => await elector.run(undefined, { stopOn: ["SIGUSR2", "SIGTERM"] }));
    const task = new StubbornTask();
    const running = a.elector.run(task.run, { stopOn: ["SIGUSR2"] });
    await world.clock.advance(1_000);
    expect(process.listenerCount("SIGUSR2")).toBe(before + 1);

    process.emit("SIGUSR2", "SIGUSR2");
    expect([task.leadership.signal.aborted, task.leadership.isValid()]).toEqual([true, true]);
    expect(process.listenerCount("SIGUSR2")).toBe(before);
    task.settle();
    await world.clock.runUntil(Promise.all([running, ...runs]));

    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("leaves no listener behind if the run ends by itself, or cannot begin", async () => {
    const before = process.listenerCount("SIGUSR2");
    const run = a.elector.run(() => Promise.reject(new Error("disk full")), { stopOn: ["SIGUSR2"] });
    await expect(a.elector.run(undefined, { stopOn: ["SIGUSR2"] })).rejects.toThrow(ElectorBusyError);
    await expect(world.clock.runUntil(run)).rejects.toThrow("disk full");

    expect(process.listenerCount("SIGUSR2")).toBe(before);
  });

  test.each(["SIGTERM", ["SIGKILL"], ["term"], [15]])("refuses stopOn: %j, which is not a list of signals", async (stopOn) => {
    await expect(a.elector.run(undefined, { stopOn: stopOn as never })).rejects.toThrow("stopOn is ");
  });

  test.each(["stop", "resign"] as const)("warns soon of a task that awaits %s() and so waits for itself", async (call) => {
    const logger = new Lines();
    const { elector } = world.candidate("b", { logger, drainTimeoutMs: 5_000 });
    const running = settled(elector.run(async () => await elector[call]()));
    await world.clock.advance(1_000);

    expect(logger.warnings).toHaveLength(1);
    expect(logger.warnings[0]).toMatch(
      new RegExp(`^${call}\\(\\) was called inside of the task of 'nightly-billing' \\(term 1\\).*waits for itself`),
    );
    elector.stop().catch(() => undefined);
    await expect(running).resolves.toMatchObject({ code: "DRAIN_TIMEOUT", message: expect.stringMatching(/waits for itself/) });
  });

  test("warns of nothing if the task does not await the call, or other code has called it", async () => {
    const logger = new Lines();
    const { elector } = world.candidate("b", { logger });
    const running = elector.run(async () => {
      await sleep(world.clock, 1_000);
      void elector.stop();
    });
    await world.clock.advance(2_000);
    await running;
    const task = new StubbornTask();
    const again = elector.run(task.run);
    await world.clock.advance(10_000);
    const stopping = elector.stop();
    await world.clock.advance(1_000);
    task.settle();
    await Promise.all([again, stopping]);

    expect(logger.warnings).toEqual([]);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("stops a standby at once, and makes a campaign reject with an AbortError", async () => {
    const leader = await world.candidate("b").elector.campaign();
    for (const call of ["run", "campaign"] as const) {
      const calling = call === "run" ? a.elector.run(untilAborted) : a.elector.campaign();
      const outcome = settled(calling);
      await world.clock.advance(1_000);
      await a.elector.stop();
      const expected = call === "run" ? "resolved" : expect.objectContaining({ name: "AbortError" });
      expect(await outcome).toEqual(expected);
    }
    expect(leader.isValid()).toBe(true);
    await leader.release();
  });

  test("waits until a leadership held by hand is disposed of", async () => {
    const leadership = await a.elector.campaign();
    let stopped = false;
    const stopping = a.elector.stop().then(() => (stopped = true));
    await world.clock.advance(1_000);
    expect([leadership.signal.aborted, stopped]).toEqual([true, false]);

    await leadership.release();

    expect(await stopping).toBe(true);
  });

  test.each(["get", "put"] as const)(
    "of a candidate waits for its %s, and the elector can then be used again",
    async (request) => {
      a.records.failNext(request, { kind: "slow", latencyMs: 400 });
      const running = a.elector.run();
      await world.clock.settle();

      await world.clock.runUntil(a.elector.stop());

      expect(a.elector.health()).toMatchObject({ state: "stopped" });
      await expect(a.elector.tryRun(() => "ran")).resolves.toMatchObject({ result: "ran" });
      await running;
    },
  );

  test("does nothing if no call is under way, and the elector can be used again", async () => {
    await a.elector.stop();
    const running = a.elector.run(untilAborted);
    await world.clock.advance(1_000);
    await Promise.all([a.elector.stop(), a.elector.stop(), running]);
    await a.elector.stop();

    expect(await a.elector.tryRun(({ term }) => term)).toMatchObject({ elected: true, result: 2 });
  });

  test("rejects, as run does, if the task goes on for longer than drainTimeoutMs", async () => {
    const task = new StubbornTask();
    const running = settled(a.elector.run(task.run));
    await world.clock.advance(1_000);

    expect(await settled(a.elector.stop())).toMatchObject({ code: "DRAIN_TIMEOUT" });

    expect(await running).toMatchObject({ code: "DRAIN_TIMEOUT" });
    task.settle();
  });

  test("is what `await using` does at the end of its block", async () => {
    {
      await using elector = world.candidate("c").elector;
      void elector.run(untilAborted);
      await world.clock.advance(1_000);
      expect(elector.isLeader).toBe(true);
    }

    expect(world.service.record(ELECTION)).toMatchObject({ termId: null });
  });
});

describe("tryCampaign", () => {
  test("returns the leadership if this candidate can lead at once", async () => {
    await using leadership = await a.elector.tryCampaign();

    expect(leadership).toMatchObject({ term: 1, candidateId: "a" });
    await world.clock.advance(60_000);
    expect(leadership?.isValid()).toBe(true);
  });

  test("does not wait if another candidate leads", async () => {
    const leader = await world.candidate("b").elector.campaign();

    expect(await a.elector.tryCampaign()).toBeUndefined();

    await leader.release();
  });
});

describe("leadership.ended", () => {
  test("resolves with the signal's reason when the leadership is lost", async () => {
    const leadership = await a.elector.campaign();
    a.records.failAll({ kind: "unavailable" });
    await world.clock.advance(60_000);

    expect(await leadership.ended).toBe(leadership.signal.reason);
    expect(await leadership.ended).toMatchObject({ code: "LEASE_LOST" });
    await leadership.release();
  });

  test("resolves when the leadership is disposed of, and not earlier", async () => {
    const leadership = await a.elector.campaign();
    let ended: Error | undefined;
    void leadership.ended.then((reason) => (ended = reason));
    await world.clock.advance(60_000);
    expect(ended).toBeUndefined();

    await leadership.release();

    expect(await leadership.ended).toMatchObject({ code: "LEADERSHIP_ENDED", reason: "released" });
  });
});

test("a list with one signal that no process can hear is refused with its value", () => {
  expect(() => checkStopOn(["SIGTERM", "SIGKILL"])).toThrow(/stopOn is \["SIGTERM","SIGKILL"\]/);
});
