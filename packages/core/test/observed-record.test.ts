import { instantOf, type LeaseRecord } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { ObservedRecord } from "../src/records/observed-record.ts";
import type { RecordReading } from "../src/records/store-age.ts";

const record = { term: 1, termId: "t", nonce: "n", leaseDurationMs: 15_000, renewIntervalMs: 5_000 } as LeaseRecord;

test("the last sixteen versions are known to have passed", () => {
  const clock = new VirtualClock();
  const sentAt = instantOf(clock);
  const observed = new ObservedRecord(clock, undefined, { record, version: "0", sentAt });
  for (let version = 1; version <= 17; version += 1) observed.update({ record, version: String(version), sentAt });
  const isPast = (version: number): boolean => observed.isPast({ data: record, version: String(version) });

  expect([0, 1, 16, 17].map(isPast)).toEqual([false, true, true, false]);
});

test("a nonce counts from the time that the first read of it states, and from no later read", async () => {
  const clock = new VirtualClock();
  const reading = (nonce: string, nonceKnownForMs?: number): RecordReading => ({
    record: { ...record, nonce },
    version: nonce,
    sentAt: instantOf(clock),
    nonceKnownForMs,
  });
  const observed = new ObservedRecord(clock, undefined, reading("first", 2_000));
  const leastMs = (): number => observed.ageMs("observed")[0];
  expect(leastMs()).toBe(2_000);
  await clock.advance(1_000);
  observed.update(reading("first", 9_000));
  expect(leastMs()).toBe(3_000);

  observed.update(reading("second", 500));
  expect(leastMs()).toBe(500);
  observed.update(reading("third"));
  expect(leastMs()).toBe(0);
});
