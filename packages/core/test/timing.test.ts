import { fc, test } from "@fast-check/vitest";
import { ConfigurationError, MemoryLeaseStore, timing, type LeaseStoreCapabilities, type TimingOptions } from "@leasehold/core";
import { describe, expect } from "vitest";
import { checkLease } from "../src/store/lease-limits.ts";

const SEEDED = { seed: 20_261_120 };
const capabilities: LeaseStoreCapabilities = {
  expiry: "native",
  watch: "poll",
  minLeaseMs: 15_000,
  maxLeaseMs: 60_000,
  leaseGranularityMs: 1_000,
  maxValueBytes: 100,
  fence: "none",
  transfer: undefined,
  storeClock: undefined,
};

describe("timing", () => {
  test("the defaults", () => {
    expect(timing()).toMatchObject({
      leaseDurationMs: 15_000,
      renewIntervalMs: 5_000,
      renewDeadlineMs: 10_000,
      validForMs: 13_500,
      retryPeriodMs: 2_000,
      attemptTimeoutMs: 5_000 / 3,
      drainTimeoutMs: 15_000,
      stallTimeoutMs: undefined,
      cooldownMs: 4_000,
      crashFailoverMs: expect.closeTo(17_000 + 10_000 / 3, 6) as number,
      politeHandoverMs: expect.closeTo(2_000 + 10_000 / 3, 6) as number,
      outageToleratedMs: expect.closeTo(2_500, 6) as number,
      pauseToleratedMs: expect.closeTo(10_000 / 3, 6) as number,
      timeToStopMs: 3_500,
      roundTripMs: 5_000 / 6,
      driftTolerated: 0.1,
    });
  });

  test("a lease of a tenth of a second is accepted, and a shorter one is refused", () => {
    expect(timing({ leaseDurationMs: 100 })).toMatchObject({ leaseDurationMs: 100 });
    expect(() => timing({ leaseDurationMs: 99 })).toThrow("Were 99 seconds meant?");
  });

  test("everything follows from the lease, but no request takes more than five seconds", () => {
    expect(timing({ leaseDurationMs: 90_000 })).toMatchObject({
      renewIntervalMs: 30_000,
      renewDeadlineMs: 60_000,
      validForMs: 81_000,
      attemptTimeoutMs: 5_000,
      drainTimeoutMs: 90_000,
    });
  });

  test("politeHandoverMs has no retryPeriodMs on a store that pushes, and one on a store that must be polled", () => {
    const polled = timing({ retryPeriodMs: 3_000 });
    const pushed = timing({ retryPeriodMs: 3_000 }, new MemoryLeaseStore().capabilities);

    // One attempt more: woken candidates wait until the push of an acquisition could have come.
    expect(polled.politeHandoverMs - pushed.politeHandoverMs).toBeCloseTo(3_000 - pushed.attemptTimeoutMs);
  });

  test("on a store that pushes, the last renewal of a crashed leader is observed within a renewal interval", () => {
    const pushed = timing({}, new MemoryLeaseStore().capabilities);
    const { leaseDurationMs, renewIntervalMs, attemptTimeoutMs } = pushed;

    expect(pushed.crashFailoverMs).toBeCloseTo(leaseDurationMs + renewIntervalMs + 3 * attemptTimeoutMs);
  });

  test("if an attempt may take four round trips, each has a quarter, and a renewal may take all of it", () => {
    const { capabilities: one } = new MemoryLeaseStore();
    const two = timing({}, one);
    const four = timing({}, { ...one, roundTrips: 4 });

    expect(two.roundTripMs).toBeCloseTo(two.attemptTimeoutMs / 2);
    expect(four.roundTripMs).toBeCloseTo(four.attemptTimeoutMs / 4);
    expect(two.outageToleratedMs - four.outageToleratedMs).toBeCloseTo(four.attemptTimeoutMs / 2);
  });

  test.each([
    [2, 1 / 2],
    [3, 1 / 3],
    [4, 1],
  ])("an outage may begin right before the answer: of %i round trips after %d attempts", (roundTrips, attempts) => {
    const report = timing({ renewIntervalMs: 500 }, { ...new MemoryLeaseStore().capabilities, roundTrips });
    const { renewDeadlineMs, attemptTimeoutMs, outageToleratedMs } = report;
    expect(outageToleratedMs).toBeCloseTo(renewDeadlineMs - attemptTimeoutMs - 2 * attempts * attemptTimeoutMs);
  });

  test("reads as a table", () => {
    const table = String(timing());

    expect(table.split("\n")).toHaveLength(12);
    expect(table).toContain("leaseDurationMs     15,000 ms  rivals wait this long after the last renewal");
    expect(table).toContain("driftTolerated           10 %  clock rates");
    expect(Object.keys(timing())).not.toContain("toString");
  });
});

describe("three instants, in order, or an error with the numbers", () => {
  const anyDuration = fc.option(
    fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.double({ min: 1, max: 100_000, noNaN: true })),
    {
      nil: undefined,
    },
  );

  test.prop([anyDuration, anyDuration, anyDuration, anyDuration], { ...SEEDED, numRuns: 1_000 })(
    "accepted durations leave two attempts before the renew deadline, and time to stop before validity ends",
    (leaseDurationMs, renewIntervalMs, renewDeadlineMs, attemptTimeoutMs) => {
      const report = attempt({ leaseDurationMs, renewIntervalMs, renewDeadlineMs, attemptTimeoutMs });
      if (report instanceof ConfigurationError) return;

      expect(report.renewIntervalMs + 2 * report.attemptTimeoutMs).toBeLessThanOrEqual(report.renewDeadlineMs);
      expect(report.outageToleratedMs).toBeGreaterThan(0);
      expect(report.renewDeadlineMs).toBeLessThan(report.validForMs);
      expect(report.validForMs).toBeLessThanOrEqual(report.leaseDurationMs * 0.9);
    },
  );

  test("a renew deadline too near to the end of validity is refused", () => {
    expect(() => timing({ leaseDurationMs: 15_000, renewDeadlineMs: 13_500 })).toThrow(
      /renewDeadlineMs must be less than 13500.*renewDeadlineMs 13500, valid until 13500 \(leaseDurationMs 15000 less a margin of 10%\)/s,
    );
  });

  test("a renew interval that cannot fit is refused", () => {
    expect(() => timing({ renewIntervalMs: 9_999 })).toThrow(/renewIntervalMs 9999,.*renewDeadlineMs 10000/s);
    expect(() => timing({ renewIntervalMs: 12_000 })).toThrow("renewIntervalMs 12000, attemptTimeoutMs 1, renewDeadlineMs 10000");
  });

  test("an attempt that would leave no time for a second one is refused", () => {
    expect(() => timing({ attemptTimeoutMs: 2_501 })).toThrow(
      "renewIntervalMs + 2 * attemptTimeoutMs is 10002, more than renewDeadlineMs",
    );
    expect(timing({ attemptTimeoutMs: 2_500 })).toMatchObject({ attemptTimeoutMs: 2_500 });
  });
});

describe("durations that cannot work", () => {
  const names = [
    "leaseDurationMs",
    "renewIntervalMs",
    "renewDeadlineMs",
    "retryPeriodMs",
    "attemptTimeoutMs",
    "drainTimeoutMs",
    "stallTimeoutMs",
  ] as const;

  test.each(names.flatMap((name) => [NaN, -1, 0, Infinity, 2 ** 31].map((value) => [name, value] as const)))(
    "%s of %d",
    (name, value) => {
      const refused = attempt({ [name]: value });

      expect(refused).toBeInstanceOf(ConfigurationError);
      expect((refused as Error).message).toContain(name);
      expect((refused as Error).message).toContain(String(value));
    },
  );

  test.each(["15000", null, {}, 15_000n])("%s is not a number of milliseconds", (value) => {
    const refused = attempt({ cooldownMs: value as number });

    expect(refused).toBeInstanceOf(ConfigurationError);
  });

  test("a cooldown of 0 is allowed", () => {
    expect(timing({ cooldownMs: 0 }).cooldownMs).toBe(0);
  });

  test("the shortest and the longest duration of a timer are allowed", () => {
    expect(timing({ stallTimeoutMs: 1, drainTimeoutMs: 2 ** 31 - 1 })).toMatchObject({
      stallTimeoutMs: 1,
      drainTimeoutMs: 2 ** 31 - 1,
    });
  });

  test.each([15_000, 60_000])("a lease of %d ms on a store that just allows it", (leaseDurationMs) => {
    expect(timing({ leaseDurationMs }, capabilities)).toMatchObject({ leaseDurationMs });
  });

  test.each([
    [14_999, "leaseDurationMs is 14999; this store takes 15000 to 60000."],
    [61_000, "leaseDurationMs is 61000; this store takes 15000 to 60000."],
    [15_500, "leaseDurationMs is 15500; this store takes multiples of 1000."],
  ])("a lease of %d ms on a store that does not allow it", (leaseDurationMs, message) => {
    expect(() => timing({ leaseDurationMs }, capabilities)).toThrow(message);
  });
});

function attempt(options: TimingOptions): ReturnType<typeof timing> | ConfigurationError {
  try {
    return timing(options);
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
}

test("each line of a timing report has a name, a value and a meaning", () => {
  const lines = String(timing()).split("\n");
  expect(lines).toHaveLength(12);
  for (const line of lines) expect(line).toMatch(/^\w+ +[\d,]+ (?:ms|%)  \w.*\w/);
});

test.each([Number.NaN, 0, "15 s" as never])("a lease of %s is refused before the store's limits are known", (leaseDurationMs) => {
  expect(() => checkLease(leaseDurationMs, undefined)).toThrow("leaseDurationMs");
});
