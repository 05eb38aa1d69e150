import { isDimensionValue, metricFields } from "@leasehold/core/diagnostics";
import { expect, test } from "vitest";

test("a line in CloudWatch's embedded metric format names its metrics, their units and the one dimension", () => {
  expect(
    metricFields({
      wallMs: 1_795_435_200_123.9,
      dimension: ["Election", "nightly"],
      metrics: [
        { name: "Leader", unit: "None", value: 1 },
        { name: "Elected", unit: "Count", value: 2 },
      ],
    }),
  ).toEqual({
    _aws: {
      // In whole milliseconds, rounded down, so that none lies in the future.
      Timestamp: 1_795_435_200_123,
      CloudWatchMetrics: [
        {
          Namespace: "Leasehold",
          Dimensions: [["Election"]],
          Metrics: [
            { Name: "Leader", Unit: "None" },
            { Name: "Elected", Unit: "Count" },
          ],
        },
      ],
    },
    Election: "nightly",
    Leader: 1,
    Elected: 2,
  });
});

test.for<[text: string, isTaken: boolean]>([
  ["nightly", true],
  ["a b", true],
  ["x".repeat(255), true],
  ["x".repeat(256), false],
  ["", false],
  [" ", false],
  ["müller", false],
])("whether CloudWatch takes %j as a dimension's value: %s", ([text, isTaken]) => {
  expect(isDimensionValue(text)).toBe(isTaken);
});
