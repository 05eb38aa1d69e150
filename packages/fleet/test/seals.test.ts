// The fences of shards that start.

import { MemoryLeaseStore } from "@leasehold/core";
import { sleep, type PutOutcome, type RecordLeaseStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { FleetNames } from "../src/fleet-names.ts";
import { FleetRecords } from "../src/fleet-records.ts";
import type { FleetSettings } from "../src/fleet-options.ts";
import type { Shard } from "../src/holds.ts";

const DRAIN_MS = 4_000;

function shardOf(term: number, signal = new AbortController().signal): Shard {
  const shard = { name: "a", election: "fleet/f/shard/a", term, termId: `t${term}`, signal, isValid: () => true };
  return shard as unknown as Shard;
}

function recordsOf(clock: VirtualClock, store: RecordLeaseStore): FleetRecords {
  const lease = { leaseDurationMs: 9_000, renewIntervalMs: 3_000, drainTimeoutMs: DRAIN_MS };
  const timing = { ...lease, retryPeriodMs: 1_000, attemptTimeoutMs: 1_000 } as FleetSettings["timing"];
  return new FleetRecords({ store, clock, names: new FleetNames("f"), memberId: "m", timing });
}

/** Returns records of a store without any record; its writes go to `put`. */
function recordsBy(clock: VirtualClock, put: () => Promise<PutOutcome>): FleetRecords {
  const records = { get: () => Promise.resolve(undefined), put };
  return recordsOf(clock, { name: "test", records } as unknown as RecordLeaseStore);
}

test("a fence lets a term pass twice, and a later one; it fails the shard at once with both terms if it is ahead", async () => {
  const clock = new VirtualClock();
  const records = recordsOf(clock, new MemoryLeaseStore({ clock }));
  for (const term of [5, 5, 7]) await clock.runUntil(records.seal(shardOf(term)));
  const sinceMs = clock.monotonicMs();
  const late = clock.runUntil(records.seal(shardOf(6)));
  await expect(late).rejects.toThrow("fence of the shard 'a' has term 7, and the plan granted the shard in term 6");
  expect(clock.monotonicMs()).toBe(sinceMs);
});

test.for([
  { title: "that is locked", put: () => Promise.reject(new Error("locked")), message: "locked" },
  { title: "that others write", put: () => Promise.resolve({ stored: false }), message: "Another process writes the fence" },
] as ReadonlyArray<{ title: string; put: () => Promise<PutOutcome>; message: string }>)(
  "a fence $title fails the shard after the time to drain",
  async ({ put, message }) => {
    const clock = new VirtualClock();
    const sinceMs = clock.monotonicMs();
    await expect(clock.runUntil(recordsBy(clock, put).seal(shardOf(6)))).rejects.toThrow(message);
    expect(clock.monotonicMs() - sinceMs).toBeGreaterThanOrEqual(DRAIN_MS);
  },
);

test("a shard that has to stop waits for no further try", async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  let tries = 0;
  const records = recordsBy(clock, () => {
    tries += 1;
    return Promise.reject(new Error("locked"));
  });
  const sealed = records.seal(shardOf(6, stop.signal));
  await clock.settle();
  stop.abort(new Error("it moves"));
  await clock.runUntil(sealed);
  expect(tries).toBe(1);
});

test("at most 16 fences are written at once", async () => {
  const clock = new VirtualClock();
  let underWay = 0;
  let most = 0;
  const records = recordsBy(clock, async () => {
    most = Math.max(most, (underWay += 1));
    await sleep(clock, 100);
    underWay -= 1;
    return { stored: true, version: "1" };
  });
  await clock.runUntil(Promise.all(Array.from({ length: 100 }, () => records.seal(shardOf(6)))));
  expect(most).toBe(16);
});
