import { expect, test } from "vitest";
import { ordered } from "../src/records/record-orders.ts";
import { parseLeaseRecord, type LeaseRecord } from "../src/records/record-store.ts";

test("a hand-over leaves what is left of a hold and of a reservation, rounded up: a record has no time of nothing", () => {
  const released: LeaseRecord = {
    schema: 1,
    term: 3,
    termId: null,
    candidateId: "a",
    nonce: "before",
    leaseDurationMs: 15_000,
    renewIntervalMs: 5_000,
    holdMs: 10_000,
    reservation: { group: "west", durationMs: 10_000 },
  };
  const snapshot = { election: "e", state: "vacant", term: 3, bar: { kind: "hold", leftMs: 0.5 } } as const;
  const order = { kind: "transfer", id: "order", candidateId: "b", timeoutMs: 1_000 } as const;

  const record = ordered(released, { snapshot, ageMs: 9_999.5 }, order, "after");

  expect(record).toMatchObject({ nonce: "after", holdMs: 1, reservation: { group: "west", durationMs: 1 } });
  expect(parseLeaseRecord(record)).toBe(record);
});
