import { ConfigurationError, timing } from "@leasehold/core";
import { describe, expect, test } from "vitest";
import { after, earlier, hasLasted, isDue, untilMs } from "../../src/run/machine-clock.ts";
import { checkPlan, describePlan, killMarginMs, planOf } from "../../src/run/kill-deadlines.ts";

const NOW = { monotonicMs: 1_000, wallMs: 50_000 };
const lease = (leaseDurationMs: number) => ({ ...timing({ leaseDurationMs }), graceMs: 8_000 });

describe("the instants of a term", () => {
  test("are a little after the renew deadline, and a kill margin before the end of validity", () => {
    // Valid for 13.5 s after a renewal that was sent 1.5 s ago.
    const { termAt, killAt } = planOf(lease(15_000), NOW, 12_000);
    expect(termAt).toEqual({ monotonicMs: 10_300, wallMs: 59_300 });
    expect(killAt).toEqual({ monotonicMs: 12_700, wallMs: 61_700 });
  });

  test.for([1_100, 3_000, 15_000, 60_000])(
    "with a lease of %d ms let the last order arrive first, and leave the command time before KILL",
    (ms) => {
      const { renewDeadlineMs, validForMs } = lease(ms);
      const { termAt, killAt } = planOf(lease(ms), NOW, validForMs);
      expect(untilMs(termAt, NOW)).toBeGreaterThan(renewDeadlineMs);
      expect(untilMs(termAt, NOW) - renewDeadlineMs).toBeLessThan(untilMs(killAt, NOW) - untilMs(termAt, NOW));
    },
  );

  test("the guard asks by itself at most a second after the renew deadline, or a quarter of the time to stop if that is shorter", () => {
    const laterMs = (ms: number): number => {
      const { renewDeadlineMs, validForMs } = lease(ms);
      return untilMs(planOf(lease(ms), NOW, validForMs).termAt, NOW) - renewDeadlineMs;
    };
    expect([3_000, 15_000, 60_000].map(laterMs)).toEqual([112.5, 800, 900]);
  });

  test("the kill margin is a quarter of a second, or 2% of the lease if that is longer", () => {
    expect([1_500, 12_500, 60_000].map(killMarginMs)).toEqual([250, 250, 1_200]);
  });

  test("are past once leadership is over", () => {
    expect(untilMs(planOf(lease(15_000), NOW, 0).killAt, NOW)).toBeLessThan(0);
  });

  test("are printed in seconds after the last renewal", () => {
    expect(describePlan(lease(15_000), "SIGTERM")).toBe(
      "without a renewal it gets SIGTERM after 10.0 s and SIGKILL after 13.2 s",
    );
    expect(describePlan({ ...lease(60_000), graceMs: 2_000 }, "SIGINT")).toBe(
      "without a renewal it gets SIGINT after 40.0 s and SIGKILL after 42.0 s",
    );
  });

  test("a lease without time for the command to end is refused, but not the shortest one that the error names", () => {
    expect(() => checkPlan(lease(1_000))).toThrow(ConfigurationError);
    expect(() => checkPlan(lease(1_000))).toThrow("take one of 1100 ms at least");
    expect(() => checkPlan(lease(1_100))).not.toThrow();
  });
});

describe("the clocks of the machine", () => {
  test("the first one to reach an instant counts", () => {
    const instant = after(NOW, 100);
    expect(untilMs(instant, NOW)).toBe(100);
    // The wall clock was set ahead. The monotonic clock stopped while the machine was suspended.
    expect(untilMs(instant, { ...NOW, wallMs: 50_200 })).toBe(-100);
    expect(untilMs(instant, { ...NOW, monotonicMs: 1_150 })).toBe(-50);
    // A wall clock that was set back delays nothing.
    expect(untilMs(instant, { monotonicMs: 1_100, wallMs: 10 })).toBe(0);
  });

  test("an instant is due when the first clock reaches it, and a duration is over by the first clock", () => {
    expect(isDue(after(NOW, 1), NOW)).toBe(false);
    expect(isDue(NOW, NOW)).toBe(true);
    expect(hasLasted(NOW, 2, after(NOW, 1))).toBe(false);
    expect(hasLasted(NOW, 2, after(NOW, 2))).toBe(true);
    expect(hasLasted(undefined, 0, NOW)).toBe(false);
  });

  test("the earlier of two instants is taken for each clock", () => {
    expect(earlier({ monotonicMs: 1, wallMs: 9 }, { monotonicMs: 5, wallMs: 2 })).toEqual({ monotonicMs: 1, wallMs: 2 });
  });
});
