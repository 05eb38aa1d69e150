import { describe, expect, test } from "vitest";
import { checkOccurrences, type OccurrencesLog } from "./check-occurrences.ts";
import { checkReigns } from "./check-terms.ts";
import type { DeliveryLog } from "./witness.ts";

const TICK = "storm@2026-11-20T00:00:00.000Z";

/** A delivery that was sent at `fromMs`, led in a term, and reported 50 ms after its handler returned at `toMs`. */
function ran(id: string, term: number, fromMs: number, toMs: number, changes: Partial<DeliveryLog> = {}): DeliveryLog {
  return {
    id,
    election: TICK,
    worker: "a1",
    sentMs: fromMs,
    acquired: { term, grantedMs: fromMs + 1, atMs: fromMs + 5 },
    started: { term, atMs: fromMs + 6 },
    validUntilMs: fromMs + 900,
    returnedMs: toMs,
    released: { atMs: toMs + 40, ok: true },
    settled: { atMs: toMs + 50, outcome: "ran" },
    ...changes,
  };
}

/** A delivery whose process ended at `diedMs`, after its handler had started, and before it returned. */
function killed(id: string, term: number, fromMs: number, diedMs: number, changes: Partial<DeliveryLog> = {}): DeliveryLog {
  const { returnedMs: _, released: __, settled: ___, ...begun } = ran(id, term, fromMs, 0);
  return { ...begun, diedMs, ...changes };
}

/** A delivery that was turned away at `toMs`. */
function standby(id: string, fromMs: number, toMs: number, changes: Partial<DeliveryLog> = {}): DeliveryLog {
  return { id, election: TICK, worker: "b1", sentMs: fromMs, settled: { atMs: toMs, outcome: "standby" }, ...changes };
}

describe("of leaderships it is found that", () => {
  test("nothing is wrong with one after another", () => {
    expect(checkReigns([ran("a", 1, 0, 100), killed("b", 2, 150, 300), ran("c", 3, 1_200, 1_300)])).toEqual([]);
  });

  test("two overlap, by however little", () => {
    expect(checkReigns([ran("a", 1, 0, 100), ran("b", 2, 93, 200)])).toEqual([
      `'${TICK}': a in term 1 and b in term 2 were valid at once for 1.0 ms`,
    ]);
  });

  test("one that goes on to work beyond its validity overlaps nobody", () => {
    expect(checkReigns([ran("a", 1, 0, 2_000), ran("b", 2, 1_000, 1_100)])).toEqual([]);
    expect(checkReigns([ran("a", 1, 0, 2_000, { validUntilMs: 1_500 }), ran("b", 2, 1_000, 1_100)])).toHaveLength(1);
  });

  test("a process that was killed overlaps nobody afterwards", () => {
    expect(checkReigns([killed("a", 1, 0, 100), ran("b", 2, 500, 600)])).toEqual([]);
    expect(checkReigns([killed("a", 1, 0, 700), ran("b", 2, 500, 600)])).toHaveLength(1);
  });

  test("two in different elections do not mind each other", () => {
    expect(checkReigns([ran("a", 1, 0, 100), ran("b", 1, 50, 200, { election: "another" })])).toEqual([]);
  });

  test("a term repeats, falls, or is not the one that was acquired", () => {
    expect(checkReigns([ran("a", 1, 0, 100), ran("b", 1, 200, 300)])).toEqual([
      `'${TICK}': a in term 1 and b in term 1 had the same term`,
    ]);
    expect(checkReigns([ran("a", 2, 0, 100), ran("b", 1, 200, 300)])).toEqual([`'${TICK}': b in term 1 came after a in term 2`]);
    expect(checkReigns([ran("a", 1, 0, 100, { started: { term: 2, atMs: 6 } })])).toEqual([
      "a acquired term 1, and its handler was told 2",
    ]);
  });
});

describe("of an occurrence it is found that", () => {
  const good: OccurrencesLog = {
    records: [{ election: TICK, term: 3, done: true }],
    // One dies before it learns of its attempt, one dies in its handler, and the third does the occurrence. A fourth comes too
    // late.
    deliveries: [
      { id: "a", election: TICK, worker: "a1", sentMs: 0, diedMs: 20 },
      killed("b", 2, 1_000, 1_100),
      ran("c", 3, 2_000, 2_100),
      standby("d", 3_000, 3_010),
    ],
    failedWrites: [],
  };
  const [unheard, died, finisher, late] = good.deliveries as [DeliveryLog, DeliveryLog, DeliveryLog, DeliveryLog];

  test("it was done once", () => {
    expect(checkOccurrences(good)).toEqual([]);
  });

  test("nobody did it", () => {
    const records = [{ election: TICK, term: 2, done: false }];
    expect(checkOccurrences({ ...good, records, deliveries: [unheard, died, late] })).toEqual([
      `'${TICK}' is not done, after 2 attempts`,
    ]);
  });

  test("two did it", () => {
    const deliveries = [unheard, ran("b", 2, 1_000, 1_100), finisher];
    expect(checkOccurrences({ ...good, deliveries })).toEqual([`'${TICK}' was done 2 times: by b (attempt 2) and c (attempt 3)`]);
  });

  test("somebody started it after it was done", () => {
    const again = killed("e", 4, 2_200, 2_300);
    const problems = [`c says that it did '${TICK}', and the last attempt was e`];
    expect(
      checkOccurrences({ ...good, records: [{ election: TICK, term: 4, done: true }], deliveries: [...good.deliveries, again] }),
    ).toEqual(problems);
    // Even if the record says otherwise.
    expect(checkOccurrences({ ...good, deliveries: [...good.deliveries, again] })).toEqual([
      `e started '${TICK}' after c had done it`,
      `'${TICK}' had an attempt 4 after its last, 3`,
    ]);
  });

  test("its last attempt died before it could report, which may be, but only after its handler", () => {
    const deliveries = [unheard, died, killed("c", 3, 2_000, 2_110, { returnedMs: 2_100 }), late];
    expect(checkOccurrences({ ...good, deliveries })).toEqual([]);
    expect(checkOccurrences({ ...good, deliveries: [unheard, died, killed("c", 3, 2_000, 2_050), late] })).toEqual([
      `'${TICK}' is done, and nobody has done it: its last attempt was c`,
    ]);
  });

  test("its last attempt did not hear from the store, which may be as well", () => {
    const failed = ran("c", 3, 2_000, 2_100, {
      released: { atMs: 2_140, ok: false },
      settled: { atMs: 2_150, outcome: "failed" },
    });
    expect(checkOccurrences({ ...good, deliveries: [unheard, died, failed, late] })).toEqual([]);
  });

  test("an attempt is missing, unless somebody died or failed who may have made it", () => {
    const deliveries = [died, finisher, late];
    expect(checkOccurrences({ ...good, deliveries })).toEqual([
      `'${TICK}' has no attempt 1, which only 0 could have made without a word`,
    ]);
    expect(
      checkOccurrences({ ...good, deliveries, failedWrites: [{ election: TICK, atMs: 10, outcome: "STORE_TIMEOUT" }] }),
    ).toEqual([]);
  });
});
