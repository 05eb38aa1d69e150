import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, RENEW_INTERVAL_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, VALID_FOR_MS, type Candidate, type Run } from "./election-world.ts";
import { StubbornTask } from "@leasehold/test-kit/leader-tasks";

let world: ElectionWorld;
let a: Candidate;
let b: Candidate;
let admin: Candidate;
let task: StubbornTask;
let runA: Run;
let runB: Run;

beforeEach(async () => {
  world = new ElectionWorld();
  [a, b, admin] = [world.candidate("a"), world.candidate("b"), world.candidate("admin")];
  task = new StubbornTask();
  runA = a.run(task.run);
  await world.clock.advance(1_000);
  runB = b.run();
  await world.clock.advance(3_000);
});

/** Advances to the leader's next renewal. */
async function nextRenewal(): Promise<void> {
  await world.clock.advance(RENEW_INTERVAL_MS - 4_000);
}

async function stop(): Promise<void> {
  runA.stop();
  runB.stop();
  task.settle();
  await Promise.allSettled([runA.settled, runB.settled]);
}

describe("a leader that is broken", () => {
  test("learns of it at its next renewal, and drains for the rest of its lease", async () => {
    await admin.store.break(ELECTION, { reason: "maintenance" });
    await nextRenewal();
    expect(task.leadership.signal.reason).toMatchObject({ code: "LEASE_LOST", reason: "broken" });
    expect(String(task.leadership.signal.reason)).toContain("maintenance");
    expect(task.leadership.isValid()).toBe(true);

    await world.clock.advance(VALID_FOR_MS - RENEW_INTERVAL_MS - 1);
    expect(task.leadership.isValid()).toBe(true);
    await world.clock.advance(1);
    expect(task.leadership.isValid()).toBe(false);
    await stop();
  });

  test("cannot publish any more, and gets an error", async () => {
    await admin.store.break(ELECTION, { reason: "maintenance" });
    await nextRenewal();
    const { nonce } = world.service.record(ELECTION)!;

    await expect(task.leadership.publish("still here")).rejects.toMatchObject({ code: "LEASE_LOST", reason: "broken" });

    expect(world.service.record(ELECTION)!.nonce).toBe(nonce);
    await stop();
  });

  test("learns of it by publishing, too", async () => {
    await admin.store.break(ELECTION, { reason: "maintenance" });

    await expect(task.leadership.publish("still here")).rejects.toMatchObject({ code: "LEASE_LOST", reason: "broken" });

    expect(task.leadership.signal.aborted).toBe(true);
    await stop();
  });
});

describe("a leader that is asked to hand over", () => {
  test("drains in full, renewing as long as it takes, then the named candidate leads", async () => {
    const c = world.candidate("c");
    const runC = c.run();
    const transfer = admin.store.transfer(ELECTION, "c", { transferTimeoutMs: 20_000 });
    await world.clock.settle();
    await nextRenewal();
    expect(task.leadership.signal.reason).toMatchObject({ code: "LEADERSHIP_ENDED", reason: "transferred" });

    await world.clock.advance(12_000);
    expect(task.leadership.isValid()).toBe(true);
    task.settle();

    expect(await world.clock.runUntil(transfer)).toBe("accepted");
    expect([a.elector.isLeader, b.elector.isLeader, c.elector.isLeader]).toEqual([false, false, true]);
    runC.stop();
    await runC.settled;
    await stop();
  });

  test("drains and leads again in a new term if the transfer is to itself", async () => {
    const transfer = admin.store.transfer(ELECTION, "a", { transferTimeoutMs: 30_000 });
    await world.clock.settle();
    await nextRenewal();
    task.settle();

    expect(await world.clock.runUntil(transfer)).toBe("accepted");
    expect(task.leadership.term).toBe(2);
    await stop();
  });
});
