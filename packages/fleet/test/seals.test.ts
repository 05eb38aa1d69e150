// The fences of shards that start.

import { MemoryLeaseStore } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { FleetNames } from "../src/fleet-names.ts";
import { FenceAheadError, FleetRecords } from "../src/fleet-records.ts";
import type { FleetContext } from "../src/fleet-reporter.ts";
import type { Shard } from "../src/hold.ts";
import { sealing } from "../src/seals.ts";

const DRAIN_MS = 4_000;

function shardOf(term: number, signal = new AbortController().signal): Shard {
  const shard = { name: "a", election: "fleet/f/shard/a", term, termId: `t${term}`, signal, isValid: () => true };
  return shard as unknown as Shard;
}

/** Returns the function that writes fences; its requests go to `seal`. */
function sealer(clock: VirtualClock, seal: FleetRecords["seal"]): (shard: Shard) => Promise<void> {
  const timing = { drainTimeoutMs: DRAIN_MS, retryPeriodMs: 1_000 };
  return sealing({ clock, timing, records: { seal } } as unknown as FleetContext);
}

test("a fence lets a term pass twice, and a later one, and names both terms if it is ahead", async () => {
  const clock = new VirtualClock();
  const timing = { leaseDurationMs: 9_000, renewIntervalMs: 3_000, attemptTimeoutMs: 1_000 };
  const store = new MemoryLeaseStore({ clock });
  const records = new FleetRecords({ store, clock, names: new FleetNames("f"), memberId: "m", timing });
  for (const term of [5, 5, 7]) await clock.runUntil(records.seal(shardOf(term)));
  const late = clock.runUntil(records.seal(shardOf(6)));
  await expect(late).rejects.toThrow("fence of the shard 'a' has term 7, and the plan granted the shard in term 6");
});

test("a fence that is ahead fails the shard at once; any other failure does so after the time to drain", async () => {
  const clock = new VirtualClock();
  const startMs = clock.monotonicMs();
  const ahead = sealer(clock, () => Promise.reject(new FenceAheadError(shardOf(6), 7)));
  await expect(clock.runUntil(ahead(shardOf(6)))).rejects.toThrow("Reset the fleet");
  const sinceMs = clock.monotonicMs();
  expect(sinceMs).toBe(startMs);
  const locked = sealer(clock, () => Promise.reject(new Error("locked")));
  await expect(clock.runUntil(locked(shardOf(6)))).rejects.toThrow("locked");
  expect(clock.monotonicMs() - sinceMs).toBeGreaterThanOrEqual(DRAIN_MS);
});

test("a shard that has to stop waits for no further try", async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  let tries = 0;
  const failing = sealer(clock, () => {
    tries += 1;
    return Promise.reject(new Error("locked"));
  });
  const sealed = failing(shardOf(6, stop.signal));
  await clock.settle();
  stop.abort(new Error("it moves"));
  await clock.runUntil(sealed);
  expect(tries).toBe(1);
});

test("at most 16 fences are written at once", async () => {
  const clock = new VirtualClock();
  let underWay = 0;
  let most = 0;
  const seal = sealer(clock, async () => {
    most = Math.max(most, (underWay += 1));
    await sleep(clock, 100);
    underWay -= 1;
  });
  await clock.runUntil(Promise.all(Array.from({ length: 100 }, () => seal(shardOf(6)))));
  expect(most).toBe(16);
});
