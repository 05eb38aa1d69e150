import { ForeignRecordError } from "@leasehold/core/provider";
import { timing } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { RolledBackTerms, SeenTerms } from "../src/election/seen-terms.ts";
import { checkStopOn } from "../src/election/stop-signals.ts";
import { checkCatchUp, earlierOccurrences } from "../src/occurrences/catch-up.ts";
import { noteRun } from "../src/occurrences/last-run.ts";
import { occurrenceId, scheduledMsOf } from "../src/occurrences/occurrence.ts";
import { intersect } from "../src/time/interval.ts";
import type { OccurrenceStore } from "../src/store/lease-store.ts";

const HOUR_MS = 3_600_000;
const RULE = { previous: (ms: number) => ms - HOUR_MS, atMost: 3, since: "1970-01-01T00:00:00Z" };

test.each<[what: string, refused: () => unknown, text: RegExp]>([
  [
    "a list with one signal that no process can hear",
    () => checkStopOn(["SIGTERM", "SIGKILL"]),
    /stopOn is \["SIGTERM","SIGKILL"\]/,
  ],
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

test("terms that were seen rise only, and those that were led are kept beside them", () => {
  const terms = new SeenTerms(new VirtualClock());
  const after = (term: number, isLed?: boolean): unknown => {
    terms.note("e", term, isLed);
    return terms.highest("e");
  };
  expect(after(3)).toEqual({ seen: 3, led: 0 });
  expect(after(2)).toEqual({ seen: 3, led: 0 });
  expect(after(2, true)).toEqual({ seen: 3, led: 2 });
  expect(after(1, true)).toEqual({ seen: 3, led: 2 });
  expect(after(5)).toEqual({ seen: 5, led: 2 });
});

test("a term that was undone is waited out for the longest lease that was observed, from the first read", async () => {
  const clock = new VirtualClock();
  const undone = new RolledBackTerms(clock, 1_000);
  expect([undone.isOver, undone.isWaitedOut]).toEqual([true, false]);
  undone.saw({ leaseDurationMs: 4_000 } as never, false);
  undone.saw(undefined, true);
  await clock.advance(3_999);
  undone.saw(undefined, true);
  expect([undone.isOver, undone.isWaitedOut]).toEqual([false, false]);
  await clock.advance(1);
  expect([undone.isOver, undone.isWaitedOut]).toEqual([true, true]);
});

test("intervals that touch overlap in one instant", () => {
  expect(intersect({ lo: 1, hi: 2 }, { lo: 2, hi: 3 })).toEqual({ lo: 2, hi: 2 });
});

test("a foreign record names its problem", () => {
  expect(new ForeignRecordError("e", "the blob", "it is text")).toMatchObject({ problem: "it is text" });
});

test("each line of a timing report has a name, a value and a meaning", () => {
  const lines = String(timing()).split("\n");
  expect(lines).toHaveLength(12);
  for (const line of lines) expect(line).toMatch(/^\w+ +[\d,]+ (?:ms|%)  \w.*\w/);
});
