import { ForeignRecordError, MemoryRecordStore, RecordLeaseStore, type PutOutcome } from "@leasehold/core/provider";
import { MemoryLeaseStore, timing } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { EVENT_LINES } from "../src/election/event-lines.ts";
import { RolledBackTerms, SeenTerms } from "../src/election/seen-terms.ts";
import { checkStopOn } from "../src/election/stop-signals.ts";
import { checkCatchUp, earlierOccurrences } from "../src/occurrences/catch-up.ts";
import { noteRun } from "../src/occurrences/last-run.ts";
import { occurrenceId, scheduledMsOf } from "../src/occurrences/occurrence.ts";
import { Wait } from "../src/occurrences/waiting-occurrences.ts";
import { lostRecord } from "../src/records/lost-record.ts";
import { vacantRecord } from "../src/records/record-store.ts";
import { checkLease } from "../src/store/lease-limits.ts";
import { localStoreWarning } from "../src/store/local-store.ts";
import { intersect } from "../src/time/interval.ts";
import { boundsOfAge } from "../src/time/service-clock.ts";
import type { OccurrenceStore } from "../src/store/lease-store.ts";
import { Lines } from "./lines.ts";

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

test.each([
  { variable: "KUBERNETES_SERVICE_HOST", platform: "Kubernetes" },
  { variable: "ECS_CONTAINER_METADATA_URI_V4", platform: "Amazon ECS" },
  { variable: "AWS_LAMBDA_FUNCTION_NAME", platform: "AWS Lambda" },
  { variable: "K_SERVICE", platform: "Cloud Run" },
  { variable: "CLOUD_RUN_JOB", platform: "Cloud Run" },
  { variable: "CONTAINER_APP_NAME", platform: "Azure Container Apps" },
  { variable: "FUNCTIONS_WORKER_RUNTIME", platform: "Azure Functions" },
  { variable: "DYNO", platform: "Heroku" },
  { variable: "FLY_MACHINE_ID", platform: "Fly.io" },
])("a memory store names $platform by $variable", ({ variable, platform }) => {
  expect(localStoreWarning("A memory store", { env: { [variable]: "x" }, hostname: "h" })).toContain(`as on ${platform}`);
});

test("an event that a person must act on is an error, and its warning has a code", () => {
  const election = "e";
  const lines = [
    EVENT_LINES.overrun({ election, term: 1, sinceSignalMs: 1 } as never, "a"),
    EVENT_LINES.listenerFailed({ election, event: "renewed", error: new Error("no") } as never, "a"),
    EVENT_LINES.storeFailed({ election, error: new ForeignRecordError("e", "the blob", "it is text") } as never, "a"),
  ];
  expect(lines.map(({ level, warning }) => [level, warning])).toEqual([
    ["error", "LEASEHOLD_OVERRUN"],
    ["error", "LEASEHOLD_LISTENER_FAILED"],
    ["error", "LEASEHOLD_RECORD_UNUSABLE"],
  ]);
});

test.each([
  { ageMs: Number.NaN, bounds: undefined },
  { ageMs: -2_001, bounds: undefined },
  { ageMs: -2_000, bounds: [0, 0] },
  { ageMs: 5_000, bounds: [3_000, 7_000] },
])("the bounds of an age of $ageMs ms by two dates are $bounds", ({ ageMs, bounds }) => {
  expect(boundsOfAge(ageMs)).toEqual(bounds);
});

test.each([
  { known: undefined, leaseDurationMs: 60_000, candidateId: null },
  { known: { term: 3, leaseDurationMs: 90_000 }, leaseDurationMs: 90_000, candidateId: "a" },
  { known: { term: 3, leaseDurationMs: 9_000 }, leaseDurationMs: 60_000, candidateId: "a" },
  { known: { term: 4, leaseDurationMs: 9_000 }, leaseDurationMs: 9_000, candidateId: "a" },
])("a lost term 4 is held for the longest lease that it may have: $known", ({ known, leaseDurationMs, candidateId }) => {
  const record = known && vacantRecord({ ...known, candidateId: "a", nonce: "n" });
  expect(lostRecord(4, record)).toMatchObject({ term: 4, leaseDurationMs, candidateId });
});

test.each([Number.NaN, 0, "15 s" as never])("a lease of %s is refused before the store's limits are known", (leaseDurationMs) => {
  expect(() => checkLease(leaseDurationMs, undefined)).toThrow("leaseDurationMs");
});

test("an invalid election is refused by each call before a request", async () => {
  const store = new MemoryLeaseStore();
  const election = "";
  for (const call of [
    () => store.read(election),
    () => store.check({ election }),
    () => store.pause(election, { reason: "r" }),
    () => store.resume(election),
    () => store.break(election, { ifTerm: 1, reason: "r" }),
    () => store.transfer(election, "b", { ifTerm: 1 }),
  ]) {
    await expect(call()).rejects.toThrow(expect.objectContaining({ code: "CONFIGURATION" }));
  }
});

class Answering extends MemoryRecordStore {
  answer: PutOutcome | undefined;
  puts = 0;
  override put(...given: Parameters<MemoryRecordStore["put"]>): Promise<PutOutcome> {
    this.puts += 1;
    return this.answer ? Promise.resolve(this.answer) : super.put(...given);
  }
}

test("a store that carries out a write on an impossible version holds no leases", async () => {
  const records = new Answering();
  records.answer = { stored: true, version: "1" };
  await expect(new RecordLeaseStore(records).check({ election: "e" })).rejects.toThrow(/cannot hold leases/);
});

test.each(["pause", "resume"] as const)(
  "a %s whose writes always meet others ends after four, and names itself",
  async (operation) => {
    const records = new Answering();
    const store = new RecordLeaseStore(records);
    if (operation === "resume") await store.pause("e", { reason: "r" });
    records.puts = 0;
    records.answer = { stored: false };
    const call = operation === "pause" ? store.pause("e", { reason: "r" }) : store.resume("e");
    await expect(call).rejects.toThrow(expect.objectContaining({ code: "STORE_CONFLICT", operation }));
    expect(records.puts).toBe(4);
  },
);

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
