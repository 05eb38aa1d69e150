import { LeaseLostError, type Leadership } from "@leasehold/core";
import { beforeEach, describe, expect, test } from "vitest";
import { LEASE_MS, RENEW_INTERVAL_MS } from "@leasehold/test-kit/acquisitions";
import {
  ATTEMPT_TIMEOUT_MS,
  ElectionWorld,
  RENEW_DEADLINE_MS,
  VALID_FOR_MS,
  type Candidate,
  type Run,
} from "./election-world.ts";
import { StubbornTask } from "@leasehold/test-kit/leader-tasks";

let world: ElectionWorld;
let a: Candidate;
let task: StubbornTask;
let run: Run;

beforeEach(() => {
  world = new ElectionWorld();
  a = world.candidate("a");
  task = new StubbornTask();
});

/** Makes a lead. Returns the leadership, and the instant at which the winning request was sent. */
async function lead(): Promise<{ readonly leadership: Leadership; readonly wonMs: number }> {
  run = a.run(task.run);
  while (task.leaderships.length === 0) await world.clock.advance(1);
  return { leadership: task.leadership, wonMs: lastPutMs() };
}

function lastPutMs(): number {
  return world.service.log.findLast(({ operation }) => operation === "put")!.sentMs;
}

/** Returns the instant, by the monotonic clock, at which the leadership's signal aborts. */
function abortTime({ signal }: Leadership): { ms: number | undefined } {
  const time: { ms: number | undefined } = { ms: undefined };
  signal.addEventListener("abort", () => (time.ms = world.clock.monotonicMs()), { once: true });
  return time;
}

async function advanceTo(ms: number): Promise<void> {
  await world.clock.advance(ms - world.clock.monotonicMs());
}

describe("what an adversarial review found", () => {
  test("a leader's signal aborts within a second after its suspended machine wakes", async () => {
    const { leadership } = await lead();
    world.clock.suspend(3_600_000);

    await world.clock.advance(1_000);

    expect(leadership.signal.aborted).toBe(true);
  });

  test("a service that throttles with Retry-After: 0 is not asked without pause", async () => {
    await lead();
    const before = world.service.log.length;
    a.records.failAll({ kind: "throttled", retryAfterMs: 0 });

    await world.clock.advance(RENEW_DEADLINE_MS);

    expect(world.service.log.length - before).toBeLessThan(30);
  });

  test("a renewal waits for one hanging publication at most, so the term is kept", async () => {
    const { leadership } = await lead();
    await world.clock.advance(RENEW_INTERVAL_MS - 100);
    a.records.failNext("put", { kind: "unanswered" });
    const publishing = [1, 2, 3].map((n) => leadership.publish(String(n)).catch(() => undefined));

    await world.clock.advance(2 * LEASE_MS);

    expect(leadership.signal.aborted).toBe(false);
    await Promise.all(publishing);
  });
});

describe("three instants, whatever the store is doing", () => {
  test.each(["lost", "unanswered", "unavailable"] as const)(
    "renewals that are %s: the signal aborts at the renew deadline exactly, and validity ends at 0.9 of the lease",
    async (kind) => {
      const { leadership, wonMs } = await lead();
      const aborted = abortTime(leadership);
      await advanceTo(wonMs + 2 * RENEW_INTERVAL_MS);
      const lastGoodMs = lastPutMs();
      // A read normally finds out what a lost reply would have said. Here reads fail, too.
      a.records.failAll({ kind });

      await advanceTo(lastGoodMs + RENEW_DEADLINE_MS - 1);
      expect([leadership.signal.aborted, leadership.isValid()]).toEqual([false, true]);

      await advanceTo(lastGoodMs + VALID_FOR_MS - 1);
      expect(aborted.ms).toBe(lastGoodMs + RENEW_DEADLINE_MS);
      expect(leadership.signal.reason).toMatchObject({ code: "LEASE_LOST", reason: "renew-deadline", term: 1 });
      expect([leadership.isValid(), leadership.remainingMs(), a.elector.isLeader]).toEqual([true, 1, true]);

      await advanceTo(lastGoodMs + VALID_FOR_MS);
      expect([leadership.isValid(), leadership.remainingMs(), a.elector.isLeader]).toEqual([false, 0, false]);
      expect(() => leadership.assertValid()).toThrow(LeaseLostError);
    },
  );

  test("the abort is for good: renewals that succeed afterwards only cover the drain", async () => {
    const { leadership, wonMs } = await lead();
    a.records.failAll({ kind: "unavailable" });
    await advanceTo(wonMs + RENEW_DEADLINE_MS);
    a.records.heal();

    await advanceTo(wonMs + LEASE_MS + 5_000);

    expect(leadership.signal.aborted).toBe(true);
    expect(leadership.isValid()).toBe(true);
    task.settle();
    run.stop();
    await run.settled;
  });

  test("remainingMs counts down to the end of validity, and up again with a renewal", async () => {
    const { leadership, wonMs } = await lead();

    await advanceTo(wonMs + 4_999);
    expect(leadership.remainingMs()).toBe(VALID_FOR_MS - 4_999);
    await advanceTo(wonMs + RENEW_INTERVAL_MS);
    expect(leadership.remainingMs()).toBe(VALID_FOR_MS);
  });

  test("the deadlines follow from the options", async () => {
    a = world.candidate("custom", {
      leaseDurationMs: 60_000,
      renewIntervalMs: 10_000,
      renewDeadlineMs: 50_000,
      attemptTimeoutMs: 1_000,
    });
    const { leadership, wonMs } = await lead();
    const aborted = abortTime(leadership);
    a.records.failAll({ kind: "lost" });

    await advanceTo(wonMs + 53_999);

    expect(aborted.ms).toBe(wonMs + 50_000);
    expect(leadership.isValid()).toBe(true);
    await world.clock.advance(1);
    expect(leadership.isValid()).toBe(false);
  });
});

describe("the holder counts from before the send", () => {
  test("the lease counts from before the winning request was sent, not from its reply", async () => {
    a.records.latencyMs = 1_500;
    const { leadership, wonMs } = await lead();
    expect(world.clock.monotonicMs()).toBe(wonMs + 1_500);
    const aborted = abortTime(leadership);
    a.records.failAll({ kind: "lost" });

    await advanceTo(wonMs + VALID_FOR_MS);

    expect(aborted.ms).toBe(wonMs + RENEW_DEADLINE_MS);
    expect(leadership.isValid()).toBe(false);
  });

  test("a renewed lease counts from before the renewal was sent, not from its reply", async () => {
    const { leadership, wonMs } = await lead();
    a.records.latencyMs = 1_500;
    await advanceTo(wonMs + RENEW_INTERVAL_MS + 1_500);
    const aborted = abortTime(leadership);
    a.records.failAll({ kind: "lost" });

    await advanceTo(wonMs + RENEW_INTERVAL_MS + VALID_FOR_MS);

    expect(aborted.ms).toBe(wonMs + RENEW_INTERVAL_MS + RENEW_DEADLINE_MS);
    expect(leadership.isValid()).toBe(false);
  });

  test("a suspension, in which the monotonic clock stood still, counts in full", async () => {
    const { leadership } = await lead();

    world.clock.suspend(VALID_FOR_MS);

    expect(leadership.isValid()).toBe(false);
    expect(leadership.signal.reason).toMatchObject({ code: "LEASE_LOST", reason: "expired" });
  });

  test("a suspension up to the renew deadline aborts the signal at the next call of isValid", async () => {
    const { leadership } = await lead();

    world.clock.suspend(RENEW_DEADLINE_MS);

    expect(leadership.isValid()).toBe(true);
    expect(leadership.signal.aborted).toBe(true);
  });

  test("a suspension is noticed at the next renewal, even without a call of isValid", async () => {
    const { leadership } = await lead();
    const puts = world.service.count("a", "put");

    world.clock.suspend(LEASE_MS);
    await world.clock.advance(RENEW_INTERVAL_MS);

    expect(leadership.signal.aborted).toBe(true);
    expect(world.service.count("a", "put")).toBe(puts);
  });

  test("a wall clock that is set back never prolongs the lease", async () => {
    const { leadership, wonMs } = await lead();
    const aborted = abortTime(leadership);
    a.records.failAll({ kind: "lost" });

    world.clock.jumpWall(-24 * 3_600_000);
    await advanceTo(wonMs + VALID_FOR_MS);

    expect(aborted.ms).toBe(wonMs + RENEW_DEADLINE_MS);
    expect(leadership.isValid()).toBe(false);
  });

  test("a wall clock that is set forward ends it early, rather than late", async () => {
    const { leadership } = await lead();

    world.clock.jumpWall(3_600_000);

    expect(leadership.isValid()).toBe(false);
  });
});

describe("a late success proves nothing", () => {
  test.each([true, false])(
    "after a freeze the very first statement knows that the term is over (store reachable: %s)",
    async (reachable) => {
      const { leadership } = await lead();
      if (!reachable) a.records.failAll({ kind: "unavailable" });

      world.clock.freeze(2 * LEASE_MS);
      expect(leadership.isValid()).toBe(false);
      expect(a.elector.isLeader).toBe(false);
      expect(leadership.remainingMs()).toBe(0);

      // No candidate has taken the lease, so the store would let the old holder renew.
      await world.clock.advance(10 * LEASE_MS);
      expect(leadership.isValid()).toBe(false);
      expect(leadership.signal.aborted).toBe(true);
    },
  );

  test("a renewal that succeeds after the freeze does not revive the term", async () => {
    const { leadership, wonMs } = await lead();
    a.records.latencyMs = 900;
    await advanceTo(wonMs + RENEW_INTERVAL_MS + 800);

    // The renewal was carried out before the freeze. Its reply is read after the freeze, before any timer of ours runs.
    world.clock.freeze(VALID_FOR_MS - RENEW_INTERVAL_MS - 800);
    await world.clock.advance(0);

    expect(world.service.count("a", "put")).toBe(2);
    expect(leadership.isValid()).toBe(false);
    expect(leadership.signal.reason).toMatchObject({ code: "LEASE_LOST" });
  });

  test("a renewal that succeeds between the renew deadline and the end of validity keeps the lease for the drain, not the task", async () => {
    const { leadership, wonMs } = await lead();
    a.records.latencyMs = 900;
    await advanceTo(wonMs + RENEW_INTERVAL_MS + 800);

    world.clock.freeze(RENEW_DEADLINE_MS - RENEW_INTERVAL_MS - 800);
    await world.clock.advance(0);

    expect(leadership.signal.aborted).toBe(true);
    expect(leadership.remainingMs()).toBe(VALID_FOR_MS - RENEW_INTERVAL_MS);
  });
});

describe("attempts", () => {
  test("a leader renews on a fixed grid, with exactly one put each time, however slow the replies are", async () => {
    a.records.latencyMs = 700;
    const { wonMs } = await lead();
    const before = world.service.log.length;

    await advanceTo(wonMs + 100 * RENEW_INTERVAL_MS + 1_000);

    const sent = world.service.log.slice(before);
    expect(sent.map(({ operation }) => operation)).toEqual(Array.from({ length: 100 }, () => "put"));
    expect(sent.map(({ sentMs }) => sentMs)).toEqual(
      Array.from({ length: 100 }, (_, tick) => wonMs + (tick + 1) * RENEW_INTERVAL_MS),
    );
  });

  test("a retry that the last try would cut short waits for it, unless the task publishes", async () => {
    const { leadership, wonMs } = await lead();
    a.records.failNext("put", { kind: "throttled", retryAfterMs: 2_600 }, { kind: "lost" });
    const failures: number[] = [];
    a.elector.on("renewFailed", () => failures.push(world.clock.monotonicMs() - wonMs));
    const before = world.service.log.length;
    await advanceTo(wonMs + 7_700);
    const publishing = leadership.publish("http://new").catch((error: unknown) => error);

    await advanceTo(wonMs + RENEW_DEADLINE_MS - 1);

    const lastTryMs = RENEW_DEADLINE_MS - ATTEMPT_TIMEOUT_MS;
    const sent = world.service.log.slice(before).map(({ sentMs }) => Math.round(sentMs - wonMs));
    expect(sent).toEqual([5_000, 7_700, Math.round(lastTryMs)]);
    // A request that was not sent has not failed.
    expect(failures).toHaveLength(1);
    expect(await publishing).toMatchObject({ code: "STORE_TIMEOUT" });
    expect(leadership.signal.aborted).toBe(false);
  });
});
