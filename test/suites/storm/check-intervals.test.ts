import type { LeaseSnapshot } from "@leasehold/core";
import { expect, test } from "vitest";
import { checkTick } from "./check-intervals.ts";
import type { IntervalLine } from "./interval-worker.ts";

const occurrence = "refresh@2026-11-20T03:00:00.000Z";

function record(term: number, completion?: object): LeaseSnapshot {
  return { election: occurrence, state: "vacant", term, bar: { kind: "done", ...(completion ? { completion } : {}) } };
}

const ended = (attempt: number): IntervalLine => ({ event: "ended", occurrence, attempt });
const outcome = (attempt: number, what: string): IntervalLine => ({ event: "outcome", occurrence, attempt, outcome: what });

test.for<[name: string, LeaseSnapshot | undefined, IntervalLine[]]>([
  ["was done by its second attempt", record(2, { result: "attempt 2" }), [outcome(1, "open"), ended(2), outcome(2, "done")]],
  ["was done by a host that died before it said so", record(1, { result: "attempt 1" }), [ended(1)]],
  ["has failed", record(1, { failure: "Error" }), [outcome(1, "failed")]],
  ["was skipped", record(1, { skipped: "overlap" }), [outcome(1, "overlap")]],
])("finds nothing wrong with a tick that %s", ([_, found, lines]) => {
  expect(checkTick(occurrence, found, lines)).toEqual([]);
});

test.for<[name: string, problem: string, LeaseSnapshot | undefined, IntervalLine[]]>([
  ["has no record", "is lost", undefined, []],
  ["is open", "is lost", { election: occurrence, state: "vacant", term: 1 }, [outcome(1, "open")]],
  ["was done twice", "was over 2 times", record(2, { result: "attempt 2" }), [ended(2), outcome(1, "done"), outcome(2, "done")]],
  ["was done before its last attempt", "its last one is 2", record(2), [ended(1), outcome(1, "done")]],
  ["was begun after it was done", "had attempt 2 after", record(1), [{ event: "begun", occurrence, attempt: 2 }]],
  ["has another attempt's result", "of another attempt", record(2, { result: "attempt 1" }), [ended(2)]],
  ["is done without work", "did not end its work", record(1, { result: "attempt 1" }), []],
  ["has lost its result", "has no result", record(1), [ended(1), outcome(1, "done")]],
  ["was skipped, and looks done", "is overlap, and its record", record(1), [outcome(1, "overlap")]],
  ["has failed, and looks done", "is failed, and its record", record(1), [outcome(1, "failed")]],
])("finds a tick that %s", ([_, problem, found, lines]) => {
  expect(checkTick(occurrence, found, lines).join("\n")).toContain(problem);
});
