import { ProcessClock, promptNetwork, VirtualClock } from "@leasehold/core/testing";
import type { DynamoDBLeaseStore, DynamoDBOccurrenceStore } from "@leasehold/dynamodb";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SimulatedService, warmUp } from "@leasehold/test-kit/simulated/dynamodb-service";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";

const TICK = "nightly@2026-11-20T10:00:00.000Z";
const ENTRY = `tick#${TICK}`;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CLAIM = acquiring({ election: TICK, expiry: "store-clock" });

let world: VirtualClock;
let service: SimulatedService;

beforeAll(warmUp);

beforeEach(() => {
  world = new VirtualClock();
  service = new SimulatedService(world);
});

/** Returns the store of one more process. */
function leases(clock = new ProcessClock(world)): DynamoDBLeaseStore {
  return service.store(clock, { network: promptNetwork(10), hostOffsetMs: () => 0 });
}

/** Returns the occurrences in one more process, which has no memory of them. */
function occurrences({ election = ELECTION, retentionMs = DAY_MS } = {}): DynamoDBOccurrenceStore {
  return leases().occurrences(election, { retentionMs });
}

/** Lets time pass until the promise settles. */
async function soon<T>(promise: Promise<T>): Promise<T> {
  return await world.runUntil(promise);
}

describe("DynamoDB may delete an occurrence", () => {
  /** Returns the item's `expiresAt`, in seconds of the service's time. */
  function expiresAt(): number {
    return Number(service.item(ELECTION, ENTRY)?.["expiresAt"]?.N);
  }

  test("its retention after the last write of any process, by the service's time alone", async () => {
    service.step(-7 * HOUR_MS);
    const [store, admin] = [occurrences(), occurrences()];
    const claim = await soon(win(store, CLAIM));
    const writes: Array<() => Promise<unknown>> = [
      () => store.renew(claim, LIMITS),
      () => store.publish(claim, "half of it", LIMITS),
      () => admin.break(TICK, { reason: "test" }),
      () => store.release(claim, LIMITS),
      () => win(store, CLAIM).then((again) => store.complete(again, LIMITS)),
    ];
    for (const write of writes) {
      await world.advance(LEASE_MS / 3);
      const beforeMs = service.nowMs();
      const before = expiresAt();
      await soon(write());

      expect(expiresAt()).toBeGreaterThan(before);
      expect(Number.isInteger(expiresAt())).toBe(true);
      expect(expiresAt() * 1_000).toBeGreaterThanOrEqual(beforeMs + DAY_MS);
      const latestMs = Number(service.item(ELECTION, ENTRY)?.["nonceNotAfter"]?.N);
      expect(expiresAt() * 1_000).toBeGreaterThanOrEqual(latestMs + DAY_MS);
      // The sum of the bounds of the service's time, and of the rounding to a second.
      expect(expiresAt() * 1_000).toBeLessThanOrEqual(service.nowMs() + DAY_MS + 5_000);
    }
  });

  test("never while a claim may still be held, even with a shorter retention", async () => {
    await soon(win(occurrences({ retentionMs: 1 }), CLAIM));
    expect(expiresAt() * 1_000).toBeGreaterThanOrEqual(service.nowMs() + LEASE_MS - 100);
  });

  test("but never a lease, after any operation", async () => {
    const [store, admin] = [leases(), leases()];
    await soon(win(store.occurrences(ELECTION, { retentionMs: 1 }), CLAIM));
    const kept = async (write: Promise<unknown>): Promise<void> => {
      await soon(write);
      expect(service.item(ELECTION)).not.toHaveProperty("expiresAt");
    };

    const lease = await soon(win(store));
    await kept(store.renew(lease, LIMITS));
    await kept(store.publish(lease, "value", LIMITS));
    await kept(admin.break(ELECTION, { reason: "test" }));
    await kept(store.release(lease, LIMITS));
    await world.advance(LEASE_MS);
    await kept(admin.transfer(ELECTION, "b", { transferTimeoutMs: 1_000 }));
    await kept(win(leases(), { candidateId: "b" }));
    await world.advance(30 * DAY_MS);
    service.expire();
    expect(service.item(ELECTION)).toMatchObject({ term: { N: "2" } });
    expect(service.item(ELECTION, ENTRY)).toBeUndefined();
  });
});
