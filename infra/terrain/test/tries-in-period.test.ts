import { retriesInPeriod } from "@leasehold/infra-terrain";
import { describe, expect, test } from "vitest";

function retriesOf(schedule: string, trySeconds: number, retries = 3): number {
  return retriesInPeriod({ schedule, timeoutMs: (trySeconds - 60) * 1_000, trySeconds, retries });
}

describe("the retries of a job that goes by the last tick of its schedule", () => {
  test.each([
    ["0 3 * * *", 660, 3],
    ["0 * * * *", 660, 3],
    ["*/30 * * * *", 660, 1],
    ["*/15 * * * *", 120, 3],
    ["0,40 * * * *", 600, 1],
    ["0-59/20 8-18 * * 1-5", 600, 1],
    ["10/25 * * * *", 500, 2],
    ["0 0,23 * * *", 1_200, 2],
    // The schedule is for the first of a month, and the day after it has no ticks.
    ["0 0,23 1 * *", 1_200, 3],
    ["0 0,23 * * SUN", 1_200, 3],
    ["0 3 * * *", 43_200, 1],
    ["0 3 1,15 * *", 57_600, 3],
    ["0 3 * * 1,4", 57_600, 3],
    ["0 3 * * MON,TUE", 43_200, 1],
    ["0 3 * * 0,7", 86_400, 3],
    ["0 3 1 * MON", 43_200, 1],
    ["0 0 1 * *", 86_400, 3],
    ["* * * * *", 30, 1],
  ])("end before the next tick of %s with tries of %i s: %i", (schedule, trySeconds, retries) => {
    expect(retriesOf(schedule, trySeconds)).toBe(retries);
  });

  test.each(["*/15 * * * *", "0,15 * * * *"])("are refused if not even one ends before the next tick of %s", (schedule) => {
    expect(() => retriesOf(schedule, 660)).toThrow(/900 s apart.*lost.*Lower timeoutMs to 390000, or schedule it less often/);
  });

  test.each(["1,? * * * *", "*/0 * * * *", "70 * * * *", "5-1 * * * *"])(
    "are not reduced for %s, which cannot be read",
    (schedule) => {
      expect(retriesOf(schedule, 660)).toBe(3);
    },
  );

  test("are refused without advice if no advice would help", () => {
    expect(() => retriesOf("* * * * *", 75)).toThrow(/60 s apart.*lost\. Schedule it less often\.$/);
  });
});
