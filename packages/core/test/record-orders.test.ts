import { describe, expect, test } from "vitest";
import type { Bar } from "../src/records/bars.ts";
import { ordered, vacate } from "../src/records/record-orders.ts";
import { parseLeaseRecord, RECORD_SCHEMA, type LeaseRecord } from "../src/records/record-store.ts";

const HELD: LeaseRecord = {
  schema: RECORD_SCHEMA,
  term: 3,
  termId: "t",
  candidateId: "a",
  nonce: "before",
  leaseDurationMs: 15_000,
  renewIntervalMs: 5_000,
};
const FREE = { ...HELD, termId: null };
const HOLD: Bar = { untilMs: 10_000, except: null };
const RESERVATION: Bar = { untilMs: 20_000, except: { group: "west" } };
const PAUSE: Bar = { untilMs: null, except: null, reason: "restore", id: "pause", sinceMs: 0 };
const BREAK = { kind: "break", id: "order", reason: "stuck", immediate: false } as const;
const TRANSFER = { kind: "transfer", id: "order", candidateId: "b", timeoutMs: 1_000 } as const;

function transferBar(untilMs: number): Bar {
  return { untilMs, except: { candidateId: "b" }, id: "order" };
}

const snapshot = (state: "held" | "vacant") => ({ election: "e", state, term: 3 });

describe("a transfer", () => {
  test("of a vacant lease begins after the rest of a hold, rounded up to a positive time", () => {
    const found = { ...snapshot("vacant"), bar: { kind: "hold", leftMs: 0.5 } } as const;
    const record = ordered({ ...FREE, bars: [HOLD] }, found, TRANSFER, "after");
    expect(record).toEqual({ ...FREE, nonce: "after", bars: [{ untilMs: 1, except: null }, transferBar(1_001)] });
    expect(parseLeaseRecord(record)).toBe(record);
  });

  test("takes the place of a reservation, whether the lease is held or vacant", () => {
    const held = ordered({ ...HELD, bars: [RESERVATION] }, snapshot("held"), TRANSFER, "after");
    expect(held).toEqual({ ...HELD, bars: [transferBar(16_000)] });
    const vacant = ordered({ ...FREE, bars: [RESERVATION] }, snapshot("vacant"), TRANSFER, "after");
    expect(vacant.bars).toEqual([transferBar(1_000)]);
  });

  test("has its whole time after the release and the hold of that release", () => {
    const asked = ordered(HELD, snapshot("held"), TRANSFER, "after");
    expect(vacate(asked, "released").bars).toEqual([transferBar(1_000)]);
    expect(vacate(asked, "released", 5_000).bars).toEqual([{ untilMs: 5_000, except: null }, transferBar(6_000)]);
  });
});

test("a release keeps a reservation and a pause", () => {
  expect(vacate({ ...HELD, bars: [RESERVATION, PAUSE] }, "released").bars).toEqual([RESERVATION, PAUSE]);
});

test.each([true, false])("a break lifts every blocker but a pause (immediate: %s)", (immediate) => {
  const order = { ...BREAK, immediate };
  expect(ordered({ ...FREE, bars: [HOLD, RESERVATION, PAUSE] }, snapshot("vacant"), order, "after").bars).toEqual([PAUSE]);
  expect(ordered({ ...HELD, bars: [transferBar(9), PAUSE] }, snapshot("held"), order, "after").bars).toEqual([PAUSE]);
  expect(ordered({ ...HELD, bars: [RESERVATION] }, snapshot("held"), order, "after")).not.toHaveProperty("bars");
});
