import { ConfigurationError, MemoryLeaseStore, timing as decideTiming } from "@leasehold/core";
import { describe, expect, test } from "vitest";
import { timeBudget } from "../src/time-budget.ts";

const { capabilities } = new MemoryLeaseStore();
/** The limits of a blob's leases. */
const COARSE = { ...capabilities, minLeaseMs: 15_000, maxLeaseMs: 60_000, leaseGranularityMs: 1_000 };

describe("the time of an invocation", () => {
  test.for<[remainingMs: number, marginMs: number]>([
    [60_000, 5_000],
    [30_000, 3_000],
  ])("of %i ms leaves a margin of %i ms to stop in, and most of it to the two tries of a release", ([remainingMs, marginMs]) => {
    const { workMs, releaseTimeoutMs } = timeBudget(remainingMs, {}, capabilities);

    expect(workMs).toBe(remainingMs - marginMs);
    expect(releaseTimeoutMs).toBeCloseTo(0.45 * marginMs);
    expect(timeBudget(remainingMs, { shutdownMarginMs: 0 }, capabilities)).toMatchObject({
      workMs: remainingMs,
      releaseTimeoutMs: 100,
    });
  });

  test("that equals the margin is refused, because no time is left to work in", () => {
    expect(() => timeBudget(500, { shutdownMarginMs: 500 }, capabilities)).toThrow(ConfigurationError);
  });
});

describe("the lease", () => {
  const leaseMs = (remainingMs: number, options: Parameters<typeof timeBudget>[1], store = COARSE): number =>
    timeBudget(remainingMs, options, store).timing.leaseDurationMs!;

  test.for<[remainingMs: number, leaseMs: number]>([
    [5_000, 15_000],
    [26_000, 30_000],
    [26_001, 31_000],
    [600_000, 60_000],
  ])("of an invocation of %i ms is %i ms if the store takes seconds from 15 to 60", ([remainingMs, expectedMs]) => {
    expect(leaseMs(remainingMs, {})).toBe(expectedMs);
  });

  test("is as long as leaseDurationMs, or as the hold", () => {
    expect(leaseMs(26_000, { leaseDurationMs: 20_000, minimumHoldMs: 16_000 })).toBe(20_000);
    expect(leaseMs(26_000, { minimumHoldMs: 40_000 })).toBe(40_000);
  });

  test("that is renewed in the background is an elector's", () => {
    expect(leaseMs(600_000, { renewal: "background" })).toBe(15_000);
    expect(leaseMs(600_000, { renewal: "background", minimumHoldMs: 20_000 })).toBe(20_000);
    expect(leaseMs(600_000, { renewal: "background", leaseDurationMs: 30_000, minimumHoldMs: 20_000 })).toBe(30_000);
    expect(timeBudget(600_000, { renewal: "background" }, COARSE).timing).toEqual({
      leaseDurationMs: 15_000,
      drainTimeoutMs: 600_000,
    });
  });
});

describe("renewals", () => {
  const renewalOf = (remainingMs: number, options: Parameters<typeof timeBudget>[1] = {}): string =>
    timeBudget(remainingMs, options, COARSE).renewal;

  test("are in the background if the lease is shorter than the invocation and no renewal is set", () => {
    expect(renewalOf(54_000)).toBe("checkpoint");
    expect(renewalOf(54_001)).toBe("background");
    expect(renewalOf(600_000, { renewal: "checkpoint" })).toBe("checkpoint");
    expect(renewalOf(5_000, { renewal: "background" })).toBe("background");
    expect(renewalOf(18_000, { leaseDurationMs: 20_000 })).toBe("checkpoint");
    expect(renewalOf(18_001, { leaseDurationMs: 20_000 })).toBe("background");
  });
});

test("two tries to renew fit before the renew deadline, for any time left and after any rounding", () => {
  for (let remainingMs = 100; remainingMs < 60_000; remainingMs += 1.737) {
    const { timing } = timeBudget(remainingMs, { shutdownMarginMs: remainingMs / 11 }, capabilities);
    const { renewIntervalMs, attemptTimeoutMs, renewDeadlineMs } = decideTiming(timing);
    expect(renewIntervalMs + 2 * attemptTimeoutMs).toBeLessThanOrEqual(renewDeadlineMs);
  }
});

test("the work has time to stop before a leadership ends that is shorter than the work", () => {
  const renewal = "checkpoint";
  expect(timeBudget(600_000, { leaseDurationMs: 30_000, renewal }, capabilities).timing).toEqual({
    leaseDurationMs: 30_000,
    renewIntervalMs: 10_000,
    renewDeadlineMs: 24_300,
    attemptTimeoutMs: 5_000,
    drainTimeoutMs: 600_000,
  });
  expect(timeBudget(600_000, { leaseDurationMs: 30_000, renewal, shutdownMarginMs: 1_000 }, capabilities).timing).toMatchObject({
    renewDeadlineMs: 26_000,
  });
  expect(timeBudget(600_000, { leaseDurationMs: 9_000, renewal }, capabilities).timing.attemptTimeoutMs).toBeCloseTo(
    (7_290 - 3_000) / 2,
  );
});
