import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, type Candidate, type Run } from "./election-world.ts";
import { StubbornTask } from "@leasehold/test-kit/leader-tasks";

let world: ElectionWorld;
let a: Candidate;
let task: StubbornTask;
let run: Run;

beforeEach(async () => {
  world = new ElectionWorld();
  a = world.candidate("a", { stallTimeoutMs: 8_000 });
  task = new StubbornTask();
  run = a.run(task.run);
  await world.clock.settle();
});

describe("checkpoint", () => {
  test("a task without a checkpoint for stallTimeoutMs is stopped, and its lease is then released", async () => {
    await world.clock.advance(7_999);
    expect(task.leadership.signal.aborted).toBe(false);

    await world.clock.advance(1);
    expect(task.leadership.signal.reason).toMatchObject({ code: "LEADERSHIP_ENDED", reason: "stalled", term: 1 });
    expect(String(task.leadership.signal.reason)).toContain("silent for 8000 ms (stallTimeoutMs 8000)");

    task.settle();
    await world.clock.settle();
    expect(world.service.record(ELECTION)).toMatchObject({ termId: null });
    run.stop();
    await run.settled;
  });

  test("a stalled task that never settles is an overrun: its lease runs out, and another candidate leads", async () => {
    const b = world.candidate("b");
    const runB = b.run();

    await world.clock.advance(60_000);

    expect(a.events.names("overrun")).toHaveLength(1);
    expect([a.elector.isLeader, b.elector.isLeader]).toEqual([false, true]);
    runB.stop();
    run.stop();
    task.settle();
    await Promise.allSettled([run.settled, runB.settled]);
    expect(world.clock.pendingTimers).toBe(0);
  });
});
