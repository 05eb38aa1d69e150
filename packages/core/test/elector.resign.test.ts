import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, RETRY_PERIOD_MS, type Candidate } from "./election-world.ts";
import { StubbornTask, untilAborted } from "@leasehold/test-kit/leader-tasks";

let world: ElectionWorld;
let a: Candidate;

beforeEach(() => {
  world = new ElectionWorld();
  a = world.candidate("a");
});

describe("resign", () => {
  test("aborts the task's signal, renews while it drains, releases, and goes on campaigning", async () => {
    const task = new StubbornTask();
    const run = a.run(task.run);
    await world.clock.advance(1_000);
    const resigning = a.elector.resign();
    expect(task.leadership.signal.reason).toMatchObject({ code: "LEADERSHIP_ENDED", reason: "resigned", term: 1 });

    await world.clock.advance(12_000);
    expect(task.leadership.isValid()).toBe(true);
    task.settle();
    await resigning;

    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
    expect(a.elector.isLeader).toBe(false);
    await world.clock.advance(LEASE_MS);
    expect(task.leaderships).toHaveLength(2);
    run.stop();
    task.settle();
    await run.settled;
  });

  test("does nothing for a candidate that does not lead", async () => {
    await a.elector.resign();
    expect(world.service.log).toHaveLength(0);

    const leader = await world.candidate("b").elector.campaign();
    const run = a.run();
    await world.clock.advance(1_000);
    await a.elector.resign();

    expect(leader.isValid()).toBe(true);
    run.stop();
    await run.settled;
    await leader.release();
  });

  test("ends a leadership held by hand once its holder disposes of it", async () => {
    const leadership = await a.elector.campaign();
    let resigned = false;
    const resigning = a.elector.resign().then(() => (resigned = true));
    await world.clock.advance(1_000);
    expect([leadership.signal.aborted, resigned]).toEqual([true, false]);

    await leadership.release();

    expect(await resigning).toBe(true);
  });

  test("has no further effect when called twice", async () => {
    const task = new StubbornTask();
    const run = a.run(task.run);
    await world.clock.advance(1_000);
    const first = a.elector.resign();
    const { reason } = task.leadership.signal as { reason: unknown };
    const second = a.elector.resign();
    task.settle();
    await Promise.all([first, second]);

    expect(task.leadership.signal.reason).toBe(reason);
    run.stop();
    await run.settled;
  });
});

describe("no bounce, no spin", () => {
  /** Returns the time from the end of its term until a leads again, if it does so within a minute. */
  async function absenceMs(): Promise<number> {
    const [endedMs] = a.events.timesMs("stoppedLeading");
    await world.clock.advance(60_000);
    return (a.events.timesMs("startedLeading")[1] ?? Infinity) - endedMs!;
  }

  test("a candidate that resigned does not compete for two retry periods, if it observes no newer term", async () => {
    const run = a.run();
    await world.clock.advance(1_000);
    await a.elector.resign();

    const ms = await absenceMs();

    expect(ms).toBeGreaterThanOrEqual(2 * RETRY_PERIOD_MS);
    expect(ms).toBeLessThanOrEqual(3 * RETRY_PERIOD_MS);
    run.stop();
    await run.settled;
  });

  test("a candidate whose task ended does not compete for two retry periods", async () => {
    let starts = 0;
    const run = a.run(async (leadership) => {
      starts += 1;
      if (starts > 1) await untilAborted(leadership);
    });
    await world.clock.advance(1_000);

    expect(await absenceMs()).toBeGreaterThanOrEqual(2 * RETRY_PERIOD_MS);
    run.stop();
    await run.settled;
  });

  test("a lost lease triggers no cooldown: its candidate leads once the store is back and the lease has expired", async () => {
    a = world.candidate("unlucky", { cooldownMs: 600_000 });
    const run = a.run();
    await world.clock.advance(1_000);
    a.records.failAll({ kind: "unavailable" });
    await world.clock.advance(2 * LEASE_MS);
    expect(a.events.names("stoppedLeading")).toHaveLength(1);

    a.records.heal();
    await world.clock.advance(a.elector.timing.crashFailoverMs);

    expect(a.elector.isLeader).toBe(true);
    run.stop();
    await run.settled;
  });

  test("nor does a break by an administrator", async () => {
    a = world.candidate("broken", { cooldownMs: 600_000 });
    const run = a.run();
    await world.clock.advance(1_000);
    await world.candidate("admin").store.break(ELECTION, { reason: "r", immediate: true });
    await world.clock.advance(2 * LEASE_MS);

    expect(a.elector.isLeader).toBe(true);
    expect(world.service.record(ELECTION)).toMatchObject({ term: 2 });
    run.stop();
    await run.settled;
  });

  test("a candidate that resigned does not compete for cooldownMs if that is set", async () => {
    a = world.candidate("patient", { cooldownMs: 30_000 });
    const run = a.run();
    await world.clock.advance(1_000);
    await a.elector.resign();

    expect(await absenceMs()).toBeGreaterThanOrEqual(30_000);
    run.stop();
    await run.settled;
  });

  test("a newer term ends the cooldown", async () => {
    a = world.candidate("patient", { cooldownMs: 600_000 });
    const run = a.run();
    await world.clock.advance(1_000);
    await a.elector.resign();
    await world.candidate("b").elector.tryRun(() => undefined);

    await world.clock.advance(2 * RETRY_PERIOD_MS);

    expect(a.elector.isLeader).toBe(true);
    expect(world.service.record(ELECTION)).toMatchObject({ term: 3, candidateId: "patient" });
    run.stop();
    await run.settled;
  });

  test("a candidate in its cooldown writes nothing, and polls no more often than otherwise", async () => {
    a = world.candidate("patient", { cooldownMs: 60_000 });
    const run = a.run();
    await world.clock.advance(1_000);
    await a.elector.resign();
    const before = world.service.log.length;

    await world.clock.advance(50_000);

    const since = world.service.log.slice(before);
    expect(since.filter(({ operation }) => operation === "put")).toEqual([]);
    expect(since.length).toBeLessThanOrEqual(51);
    run.stop();
    await run.settled;
  });
});
