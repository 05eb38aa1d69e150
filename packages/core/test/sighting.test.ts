import { instantOf, type LeaseRecord } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { Sighting } from "../src/records/sighting.ts";

const record = { term: 1, termId: "t", nonce: "n", leaseDurationMs: 15_000, renewIntervalMs: 5_000 } as LeaseRecord;

test("sixteen versions are known to have passed", () => {
  const clock = new VirtualClock();
  const sentAt = instantOf(clock);
  const sighting = new Sighting(clock, undefined, { record, version: "0", sentAt });
  for (let version = 1; version <= 17; version += 1) sighting.update({ record, version: String(version), sentAt });
  const isPast = (version: number): boolean => sighting.isPast({ data: record, version: String(version) });

  expect([0, 1, 16, 17].map(isPast)).toEqual([false, true, true, false]);
});
