import { fc } from "@fast-check/vitest";
import { expect, test } from "vitest";
import { decodeReport, encodeReport, fromRanges, toRanges, type Report } from "../src/report.ts";
import { report } from "./reports.ts";

const REPORT = report();

test("a report comes back as it was", () => {
  const whole: Report = {
    ...REPORT,
    known: 9,
    draining: new Set(["3", "4", "5", "tenant", "007"]),
    ended: [
      { shard: "9", since: 4, how: "failed" },
      { shard: "tenant-2", since: 5, how: "returned" },
    ],
    stopping: true,
    fenced: true,
    weight: 2.5,
    maxShards: 3,
    priority: -2,
  };
  expect(decodeReport(encodeReport(whole))).toEqual(whole);
});

test("numbers are told as ranges, and any other name as it is", () => {
  expect(toRanges(["2", "10", "1", "a", "01", "3"])).toEqual(["a", "01", [1, 3], [10, 10]]);
  const property = fc.property(fc.uniqueArray(fc.oneof(fc.nat(40).map(String), fc.string())), (names) => {
    expect(fromRanges(toRanges(names), 100)).toEqual(new Set(names));
  });
  fc.assert(property);
});

test("a report that is too long says that all drain, and names as many ended shards as fit", () => {
  const ended = Array.from({ length: 400 }, (_, index) => ({
    shard: `tenant-${index}`,
    since: 1_767_225_600,
    how: "left" as const,
  }));
  const draining = new Set(Array.from({ length: 400 }, (_, index) => `customer-${index}`));
  const text = encodeReport({ ...REPORT, draining, ended });
  const told = decodeReport(text);

  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2_048);
  expect(told?.draining).toBe("all");
  expect(told?.ended.length).toBeGreaterThan(10);
  expect(told?.ended).toEqual(ended.slice(0, told?.ended.length));
});

test("eight thousand numbered shards that drain fit as they are", () => {
  const draining = new Set(Array.from({ length: 8_000 }, (_, index) => String(index)));
  expect(decodeReport(encodeReport({ ...REPORT, draining }))?.draining).toEqual(draining);
});

const text = (change: object): string => JSON.stringify({ ...(JSON.parse(encodeReport(REPORT)) as object), ...change });

test.for([
  undefined,
  "",
  "null",
  "[]",
  "7",
  text({ v: 2 }),
  text({ id: "" }),
  text({ applied: -1 }),
  text({ applied: "7" }),
  text({ draining: "everything" }),
  text({ draining: [[0, 1e12]] }),
  text({ ended: "all" }),
  text({ ended: [["9", 4, 7]] }),
])("a value that is no report frees nothing: %s", (value) => {
  expect(decodeReport(value)).toBeUndefined();
});

test("a share's number that is not valid counts as its default", () => {
  const told = decodeReport(text({ weight: 0, maxShards: -1, priority: 1.5 }));
  expect(told).toMatchObject({ weight: 1, maxShards: Infinity, priority: 0 });
});
