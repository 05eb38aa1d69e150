import type { AcquireOutcome, AcquireRequest } from "@leasehold/core/provider";
import { ProcessClock, VirtualClock, type ProcessClockOptions } from "@leasehold/core/testing";
import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import { acquiring, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import type { ObjectReply } from "@leasehold/test-kit/object-server/messages";
import { ObjectBucket } from "@leasehold/test-kit/object-server/object-bucket";
import { BUCKET } from "@leasehold/test-kit/object-server/server";
import { directClient, type Carry } from "@leasehold/test-kit/simulated/object-client";
import { beforeEach, expect, test } from "vitest";
import { refusal } from "./object-world.ts";

const HOUR_MS = 3_600_000;
const COLD: Partial<AcquireRequest> = { candidateId: "cold", expiry: "store-clock" };

let world: VirtualClock;
let bucket: ObjectBucket;

beforeEach(() => {
  world = new VirtualClock();
  bucket = new ObjectBucket(BUCKET, () => world.wallMs());
});

/** A process without a memory. */
function started(
  options?: ProcessClockOptions,
  carry: Carry = async (serve) => await Promise.resolve(serve()),
): ObjectStorageLeaseStore {
  const client = directClient(bucket, carry);
  return new ObjectStorageLeaseStore({ client, bucket: BUCKET, clock: new ProcessClock(world, options) });
}

/** Puts a proxy before the service, which writes its own date. */
function proxyIsOffBy(ms: number): void {
  bucket.signs = {
    get date() {
      return new Date(world.wallMs() + ms).toUTCString();
    },
  };
}

/** Makes one attempt in a new process, as `tryRun` does: it reads, and acquires only if that may succeed. */
async function attempt(): Promise<AcquireOutcome | "held"> {
  const store = started();
  const seen = await store.read(acquiring().election, { expiry: "store-clock" });
  if (seen?.ageUnknown !== true && seen?.bar) return "held";
  return await store.acquire(acquiring(COLD));
}

test("a proxy whose date is ahead does not depose a leader, and the lease ends in time by the wall clocks", async () => {
  const leader = started();
  const lease = await win(leader);
  proxyIsOffBy(HOUR_MS);

  await expect(attempt()).resolves.toBe("held");
  await expect(leader.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  await world.advance(LEASE_MS - 1);
  await expect(attempt()).resolves.toBe("held");
  await world.advance(1);
  await expect(attempt()).resolves.toMatchObject({ acquired: true });
});

test("a proxy whose date is behind leaves a leader alone, and is named once the lease should have ended", async () => {
  await win(started());
  proxyIsOffBy(-HOUR_MS);
  await expect(attempt()).resolves.toBe("held");
  await world.advance(LEASE_MS);

  for (let tries = 0; tries < 2; tries += 1) {
    await expect(attempt()).rejects.toMatchObject({ code: "STORE_REJECTED", mayHaveBeenApplied: false });
    await expect(attempt()).rejects.toThrow("a proxy writes its own Date");
  }
});

test("a holder whose wall clock was ahead is replaced in the end", async () => {
  await win(started({ wallOffsetMs: HOUR_MS }));
  await world.advance(LEASE_MS);
  await expect(attempt()).resolves.toBe("held");
  await world.advance(4_000);
  // Its age counts from the first attempt that finds it this old.
  await expect(attempt()).resolves.toMatchObject({ acquired: false });
  await world.advance(LEASE_MS + 4_000);
  await expect(attempt()).resolves.toMatchObject({ acquired: true });
});

test.each([10_000, -10_000])("check() refuses a proxy whose date is off by %d ms", async (ms) => {
  const store = started();
  await store.check({ election: "e" });
  proxyIsOffBy(ms);
  const details = { code: "STORE_REJECTED", operation: "check", mayHaveBeenApplied: false };
  await expect(store.check({ election: "e" })).rejects.toMatchObject(details);
  await expect(store.check({ election: "e" })).rejects.toThrow("a proxy writes its own Date");
  await expect(store.check({ election: "e" })).rejects.toThrow(`(it makes a new object ${ms / 1_000} s old)`);
});

test.each<[what: string, writes: number, reply: ObjectReply]>([
  ["no rival's write succeeds", 0, refusal(412, "PreconditionFailed")],
  ["another client's writes are under way", 0, refusal(409, "ConditionalRequestConflict")],
  ["one rival's write succeeds, and the others come too early", 1, refusal(409, "ConditionalRequestConflict")],
])("check() judges the date of a new object alone: %s", async (_, writes, reply) => {
  let left = Infinity;
  const store = started({}, async (serve, operation) => {
    await Promise.resolve();
    const isRival = operation.startsWith("PUT") && operation.includes(".probe");
    if (isRival) left -= 1;
    return isRival && left < 0 ? reply : serve();
  });
  await store.check({ election: "e" });
  await world.advance(HOUR_MS);
  left = writes;
  await expect(store.check({ election: "e" })).resolves.toMatchObject({ warnings: [] });
});

test("check() judges no date of an object that was deleted meanwhile", async () => {
  let reads = 0;
  const store = started({}, async (serve, operation) => {
    await Promise.resolve();
    if (operation.startsWith("GET") && operation.includes(".probe") && (reads += 1) === 2) bucket.objects.clear();
    return serve();
  });
  await expect(store.check({ election: "e" })).resolves.toMatchObject({ warnings: [] });
  expect(reads).toBe(2);
});
