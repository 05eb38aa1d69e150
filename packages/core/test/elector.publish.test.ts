import { StoreError } from "@leasehold/core";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, RENEW_INTERVAL_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, RENEW_DEADLINE_MS, type Candidate, type Run } from "./election-world.ts";
import { StubbornTask } from "@leasehold/test-kit/leader-tasks";

let world: ElectionWorld;
let a: Candidate;
let task: StubbornTask;
let run: Run;

beforeEach(async () => {
  world = new ElectionWorld();
  a = world.candidate("a", { value: "http://old" });
  task = new StubbornTask();
  run = a.run(task.run);
  await world.clock.advance(1_000);
});

async function stop(): Promise<void> {
  run.stop();
  task.settle();
  await world.clock.runUntil(run.settled);
}

describe("publish", () => {
  test("changes the value that others read at once, by one request, and keeps the term", async () => {
    const before = world.service.log.length;
    await task.leadership.publish("http://new");
    expect(world.service.log).toHaveLength(before + 1);

    expect(await world.candidate("reader").store.read(ELECTION)).toMatchObject({ term: 1, value: "http://new" });
    await world.clock.advance(60_000);
    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, value: "http://new" });
    await stop();
  });

  test("waits for two renewals at most if a last try is due and they do not extend the lease", async () => {
    a.records.failAll({ kind: "unavailable" });
    await world.clock.advance(RENEW_DEADLINE_MS - 1_200);
    a.records.heal();
    let renewals = 0;
    const renew = a.store.renew.bind(a.store);
    a.store.renew = async () => {
      renewals += 1;
      return { held: true };
    };

    await task.leadership.publish("http://new");

    expect(renewals).toBe(2);
    a.store.renew = renew;
    await stop();
  });

  test("a renewal that was due meanwhile does not wait for the last try of the old lease", async () => {
    await stop();
    const c = world.candidate("c", { renewIntervalMs: 9_000, renewDeadlineMs: 12_000, attemptTimeoutMs: 1_500 });
    task = new StubbornTask();
    run = c.run(task.run);
    await world.clock.advance(0);
    // The reply arrives shortly before the last try of the old lease. A renewal would wait for that try.
    await world.clock.advance(8_900);
    c.records.latencyMs = 1_200;
    const publishing = task.leadership.publish("http://new");
    await world.clock.advance(1_200);
    await publishing;
    c.records.latencyMs = 0;
    const renewed = c.events.timesMs("renewed").length;
    await world.clock.advance(9_000);
    expect(c.events.timesMs("renewed").length).toBeGreaterThan(renewed);
    await stop();
  });

  test("causes no second renewal for a tick during which it is under way", async () => {
    await world.clock.advance(RENEW_INTERVAL_MS - 1_100);
    a.records.latencyMs = 200;
    const sent = world.service.log.length;
    const publishing = task.leadership.publish("http://new");
    await world.clock.advance(RENEW_INTERVAL_MS - 100);
    await publishing;
    expect(world.service.log.slice(sent)).toHaveLength(2);
    await stop();
  });

  test("does not shorten the wait that the service has asked of renewals", async () => {
    let renewals = 0;
    const renew = a.store.renew.bind(a.store);
    a.store.renew = () => {
      renewals += 1;
      const details = { store: "faulty", operation: "renew", mayHaveBeenApplied: false, retryAfterMs: 1_500 };
      return Promise.reject(new StoreError("STORE_THROTTLED", "It is busy.", details));
    };
    // As on a store where a publication does not extend the lease.
    a.store.publish = () => Promise.resolve({ held: true });
    await world.clock.advance(RENEW_INTERVAL_MS - 1_000);
    for (let count = 0; count < 10; count += 1) {
      await world.clock.advance(50);
      await task.leadership.publish("http://new");
    }
    expect(renewals).toBe(1);
    a.store.renew = renew;
    await stop();
  });

  test("waits for a renewal that is under way: the holder's requests go one at a time", async () => {
    a.records.latencyMs = 1_000;
    await world.clock.advance(RENEW_INTERVAL_MS - 1_000);
    const sent = world.service.log.length;

    const publishing = task.leadership.publish("http://new");
    await world.clock.settle();
    expect(world.service.log).toHaveLength(sent);

    await world.clock.runUntil(publishing);
    expect(world.service.record(ELECTION)).toMatchObject({ value: "http://new" });
    await stop();
  });

  test("rejects if it fails, and the leadership goes on", async () => {
    a.records.failNext("put", { kind: "unavailable" });

    await expect(task.leadership.publish("http://new")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });

    await world.clock.advance(60_000);
    expect(task.leadership.signal.aborted).toBe(false);
    await stop();
  });

  test("rejects if it finds the lease lost, and ends the leadership", async () => {
    world.service.remove(ELECTION);

    await expect(task.leadership.publish("http://new")).rejects.toMatchObject({ code: "LEASE_LOST", reason: "missing" });

    expect(task.leadership.isValid()).toBe(false);
    expect(task.leadership.signal.aborted).toBe(true);
    await stop();
  });

  test("is refused without a request after the end", async () => {
    await stop();
    const sent = world.service.log.length;

    await expect(task.leadership.publish("http://new")).rejects.toBe(task.leadership.signal.reason);
    expect(world.service.log).toHaveLength(sent);
  });
});
