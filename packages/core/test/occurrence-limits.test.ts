/** The limits of occurrences: those that catch up, notes of runs, and waits for other hosts. */
import { MemoryLeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { checkCatchUp, earlierOccurrences } from "../src/occurrences/catch-up.ts";
import { noteRun } from "../src/occurrences/last-run.ts";
import { occurrenceId, scheduledMsOf } from "../src/occurrences/occurrence.ts";
import { Wait } from "../src/occurrences/waiting-occurrences.ts";
import type { OccurrenceStore } from "../src/store/lease-store.ts";
import { Lines } from "./lines.ts";

const HOUR_MS = 3_600_000;
const RULE = { previous: (ms: number) => ms - HOUR_MS, atMost: 3, since: "1970-01-01T00:00:00Z" };

test.each<[what: string, refused: () => unknown, text: RegExp]>([
  ["atMost 0", () => checkCatchUp({ ...RULE, atMost: 0 }), /atMost is 0/],
  ["atMost 101", () => checkCatchUp({ ...RULE, atMost: 101 }), /atMost is 101/],
  ["a previous time that is no number", () => earlier({ previous: () => Number.NaN }), /returned NaN/],
  ["a previous time that is not earlier", () => earlier({ previous: (ms) => ms }), /must return an earlier time/],
  ["an occurrence with an empty name", () => occurrenceId({ name: "", scheduledMs: 0 }, ""), /name is "";/],
  ["no time", () => scheduledMsOf(undefined, "The time", "Advice."), /The time is missing, .* Advice\./],
  ["a text that is no time", () => scheduledMsOf("noon", "The time", ""), /The time is "noon",/],
])("%s is refused with its value", (_what, refused, text) => {
  expect(refused).toThrow(text);
});

test.each([1, 100])("catchUp.atMost may be %i", (atMost) => {
  expect(() => checkCatchUp({ ...RULE, atMost })).not.toThrow();
});

function earlier(
  rule: Partial<typeof RULE & { withinMs: number }>,
  scheduledMs = 10 * HOUR_MS,
  retentionMs = 48 * HOUR_MS,
): number[] {
  const found = earlierOccurrences({ name: "job", scheduledMs }, { ...RULE, ...rule }, retentionMs, scheduledMs);
  return found.map((one) => one.scheduledMs / HOUR_MS);
}

test.each<[what: string, found: number[], expected: number[]]>([
  ["atMost ends it", earlier({}), [7, 8, 9]],
  ["since counts itself", earlier({ since: "1970-01-01T09:00:00Z" }), [9]],
  ["withinMs counts itself", earlier({ withinMs: 2 * HOUR_MS }), [8, 9]],
  ["the last hour of the retention does not count", earlier({ atMost: 9 }, 10 * HOUR_MS, 3 * HOUR_MS), [8, 9]],
])("the occurrences before one: %s", (_what, found, expected) => {
  expect(found).toEqual(expected);
});

test.each([
  { leftMs: 10_000, timeoutMs: 1_000 },
  { leftMs: Infinity, timeoutMs: 5_000 },
])("a note takes a tenth of the time left, and 5 s at most: %j", async ({ leftMs, timeoutMs }) => {
  const limits: unknown[] = [];
  const note = { occurrence: "job@b", scheduledMs: 2, attempt: 1, doneMs: 3 };
  const store = {
    capabilities: { minLeaseMs: 7 },
    read: async (_name: string, asked: { timeoutMs: number }) => {
      limits.push(asked.timeoutMs);
      return await Promise.resolve({ value: JSON.stringify(note) });
    },
    acquire: async (asked: { timeoutMs: number }) => {
      limits.push(asked.timeoutMs);
      return await Promise.resolve({ acquired: false });
    },
  } as unknown as OccurrenceStore;

  await noteRun(store, note, { candidateId: "a", leftMs });
  expect(limits).toEqual([timeoutMs, timeoutMs]);
  await noteRun(store, { ...note, scheduledMs: 1 }, { candidateId: "a", leftMs });
  expect(limits).toHaveLength(3);
});

test("a host that waits for many occurrences polls the newest two at their pace, and is warned again after half have ended", async () => {
  const clock = new VirtualClock();
  const logger = new Lines();
  const store = new MemoryLeaseStore();
  const begin = (nth: number): Wait => new Wait(store, { name: "job", id: `job@${nth}`, clock, logger });
  const waits = Array.from({ length: 10 }, (_none, nth) => begin(nth));
  expect(logger.warnings).toHaveLength(1);
  const ended: number[] = [];
  for (const [nth, wait] of waits.entries()) void wait.pause(1_000, undefined).then(() => ended.push(nth));
  await clock.advance(1_000);
  expect(ended).toEqual([8, 9]);
  await clock.advance(3_000);
  expect(ended).toHaveLength(10);
  waits[0]!.leave();
  waits.push(begin(10));
  expect(logger.warnings).toHaveLength(1);
  for (const wait of waits.slice(1, 8)) wait.leave();
  for (let nth = 11; nth < 18; nth += 1) begin(nth);
  expect(logger.warnings).toHaveLength(2);
});
