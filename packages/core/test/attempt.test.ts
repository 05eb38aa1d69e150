import { attempt } from "@leasehold/core/occurrences";
import { RecordOccurrenceStore } from "@leasehold/core/provider";
import { expect, test } from "vitest";
import { ElectionWorld } from "./election-world.ts";
import type { Fault } from "./faulty-record-store.ts";

test.each([
  [0, 100],
  [40, 100],
  [700, 700],
  [60_000, 1_000],
])("a store that throttles and asks for a wait of %s ms is asked again after %i ms", async (retryAfterMs, waitMs) => {
  const world = new ElectionWorld();
  const a = world.candidate("a");
  a.records.latencyMs = 0;
  a.records.failNext("get", { kind: "throttled", retryAfterMs });
  const beganMs = world.clock.monotonicMs();

  const outcome = await world.clock.runUntil(attempt(a.elector, () => "ran", { clock: world.clock }));

  expect(outcome).toMatchObject({ elected: true, result: "ran" });
  expect(world.service.log.map(({ sentMs }) => sentMs - beganMs).slice(0, 2)).toEqual([0, waitMs]);
});

const OUTAGE: Fault = { kind: "unavailable" };

test.each<[what: string, faults: Fault[], late: boolean, outcome: unknown]>([
  ["two outages are one", [OUTAGE, OUTAGE], false, { elected: false, unavailable: { code: "STORE_UNAVAILABLE" } }],
  ["an outage, and then an answer, are none", [OUTAGE], false, { elected: true, result: "ran" }],
  ["an outage, and then a refusal, are the refusal", [OUTAGE, { kind: "denied" }], false, { code: "STORE_DENIED" }],
  ["a refusal is itself", [{ kind: "denied" }], false, { code: "STORE_DENIED" }],
  ["two outages of a late one are one", [OUTAGE, OUTAGE], true, { elected: false, unavailable: { code: "STORE_UNAVAILABLE" } }],
  ["an outage of a late one, and then an answer, miss it", [OUTAGE], true, { elected: false, reason: "missed" }],
])("of the failures of an attempt, %s", async (_, faults, late, outcome) => {
  const world = new ElectionWorld();
  const a = world.candidate("a");
  a.records.failNext("get", ...faults);
  const store = new RecordOccurrenceStore(a.records, { clock: world.clock });
  const latest = late ? { wallMs: world.clock.wallMs() - 1, store } : undefined;

  const attempting = attempt(a.elector, () => "ran", { clock: world.clock, latest }).catch((error: unknown) => error);
  expect(await world.clock.runUntil(attempting)).toMatchObject(outcome as object);
});

test.each<[what: string, first: Fault[], outcome: unknown]>([
  ["without an outage before it rejects with its reason", [], { name: "enough" }],
  ["after an outage leaves the store unavailable", [OUTAGE], { unavailable: { code: "STORE_UNAVAILABLE" } }],
])("an abort of an attempt %s", async (_, first, outcome) => {
  const world = new ElectionWorld();
  const a = world.candidate("a");
  a.records.failNext("get", ...first, { kind: "lost" });
  const stopping = new AbortController();
  const limits = { clock: world.clock, signal: stopping.signal };
  const attempting = attempt(a.elector, () => "ran", limits).catch((error: unknown) => error);
  await world.clock.advance(500);

  stopping.abort({ name: "enough" });

  expect(await world.clock.runUntil(attempting)).toMatchObject(outcome as object);
});
