import { ConfigurationError, type Leadership } from "@leasehold/core";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, RENEW_INTERVAL_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, RENEW_DEADLINE_MS, VALID_FOR_MS, type Candidate } from "./election-world.ts";
import { StubbornTask } from "@leasehold/test-kit/leader-tasks";

let world: ElectionWorld;
let a: Candidate;
let task: StubbornTask;
let leadership: Leadership;
let trying: Promise<unknown>;

beforeEach(async () => {
  world = new ElectionWorld();
  a = world.candidate("a", { renewal: "manual" });
  task = new StubbornTask();
  trying = a.elector.tryRun(task.run);
  trying.catch(() => undefined);
  await world.clock.settle();
  leadership = task.leadership;
});

describe("renewal by the task itself", () => {
  test("sends nothing without a call, and the signal aborts at the renew deadline", async () => {
    await world.clock.advance(RENEW_DEADLINE_MS - 1);
    expect(leadership.signal.aborted).toBe(false);
    await world.clock.advance(1);

    expect(leadership.signal.reason).toMatchObject({ code: "LEASE_LOST", reason: "renew-deadline" });
    expect((leadership.signal.reason as Error).message).toContain("its task is to renew it more often");
    expect(world.service.count("a", "put")).toBe(1);
    task.settle();
    await expect(trying).resolves.toMatchObject({ elected: true });
  });

  test.each([RENEW_INTERVAL_MS, RENEW_DEADLINE_MS - 2_000])(
    "keeps the lease for as long as the task asks every %d ms",
    async (ms) => {
      for (let round = 0; round < 10; round += 1) {
        await world.clock.advance(ms);
        await leadership.renew();
      }

      expect(leadership.remainingMs()).toBe(VALID_FOR_MS);
      expect(world.service.count("a", "put")).toBe(11);
      task.settle();
      await trying;
      expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
      expect(world.clock.pendingTimers).toBe(0);
    },
  );

  test("sends no more than one renewal an interval, nor two at once", async () => {
    await world.clock.advance(RENEW_INTERVAL_MS - 1);
    await leadership.renew();
    expect(world.service.count("a", "put")).toBe(1);
    await world.clock.advance(1);

    await Promise.all([leadership.renew(), leadership.renew(), leadership.renew()]);

    expect(world.service.count("a", "put")).toBe(2);
    expect(a.events.names("renewed")).toHaveLength(1);
  });

  test("is due by the clock that shows more elapsed time, as its deadline is", async () => {
    world.clock.jumpWall(RENEW_INTERVAL_MS - 2);
    await world.clock.advance(1);
    await leadership.renew();
    expect(world.service.count("a", "put")).toBe(1);
    await world.clock.advance(1);

    await leadership.renew();

    expect(world.service.count("a", "put")).toBe(2);
    expect(leadership.remainingMs()).toBe(VALID_FOR_MS);
  });

  test("emits an event if it fails while there is time, and can be called again", async () => {
    await world.clock.advance(RENEW_INTERVAL_MS);
    a.records.failNext("put", { kind: "unavailable" });

    await leadership.renew();
    expect(a.events.names("renewFailed")).toHaveLength(1);
    await leadership.renew();

    expect(leadership.remainingMs()).toBe(VALID_FOR_MS);
  });

  test("rejects once the leadership is over", async () => {
    a.records.failAll({ kind: "unavailable" });
    await world.clock.advance(VALID_FOR_MS);

    await expect(leadership.renew()).rejects.toMatchObject({ code: "LEASE_LOST" });
    task.settle();
    await trying;
  });

  test("is a word of two", () => {
    expect(() => world.candidate("b", { renewal: "sometimes" as "manual" })).toThrow(ConfigurationError);
  });
});
