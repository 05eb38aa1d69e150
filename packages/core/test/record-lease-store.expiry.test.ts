import { RecordLeaseStore } from "@leasehold/core/provider";
import { ProcessClock, VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { RecordService, type FaultyRecordStore } from "./faulty-record-store.ts";

const HOUR_MS = 3_600_000;

let clock: VirtualClock;
let service: RecordService;
let holder: RecordLeaseStore;
let recordsB: FaultyRecordStore;
let rival: RecordLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  service = new RecordService(clock);
  holder = new RecordLeaseStore(service.connect("a"), { clock });
  recordsB = service.connect("b");
  rival = new RecordLeaseStore(recordsB, { clock });
});

async function state(store: RecordLeaseStore = rival): Promise<string | undefined> {
  return (await clock.runUntil(store.read(ELECTION)))?.state;
}

describe("a rival counts from after its read", () => {
  test.each(["expired", "vacant"])("a lease that is %s is polled again after half to one retry period", async (how) => {
    const lease = await win(holder);
    if (how === "vacant") await holder.release(lease, LIMITS);
    await rival.read(ELECTION);
    await clock.advance(LEASE_MS);
    const waitsMs = Array.from({ length: 100 }, () => rival.nextLookMs(ELECTION, 2_000));

    expect(Math.min(...waitsMs)).toBeCloseTo(1_000, -2);
    expect(Math.max(...waitsMs)).toBeCloseTo(2_000, -2);
  });

  test("a long lease expires for a process that returns then, even if it reads many others first", async () => {
    const leaseDurationMs = 3 * HOUR_MS;
    await win(holder, { leaseDurationMs });
    await rival.read(ELECTION);

    rival.nextLookMs(ELECTION, 2_000);
    await clock.advance(leaseDurationMs);
    await win(rival, { election: "another" });

    expect(await state()).toBe("expired");
  });

  test("the time counts from the reply of the first read, not from its send", async () => {
    await win(holder);
    recordsB.failNext("get", { kind: "slow", latencyMs: 3_000 });
    const sentMs = clock.monotonicMs();
    await clock.runUntil(rival.read(ELECTION));

    await clock.advance(sentMs + LEASE_MS + 2_999 - clock.monotonicMs());
    expect(await state()).not.toBe("expired");

    await clock.advance(1);
    expect(await state()).toBe("expired");
  });

  test("a renewal restarts the time", async () => {
    const lease = await win(holder);
    await rival.read(ELECTION);
    await clock.advance(10_000);
    await holder.renew(lease, LIMITS);
    await rival.read(ELECTION);

    await clock.advance(LEASE_MS - 1);
    expect(await state()).not.toBe("expired");
    await clock.advance(1);
    expect(await state()).toBe("expired");
  });

  test("the time does not count a suspension of the rival", async () => {
    await win(holder);
    await rival.read(ELECTION);

    clock.suspend(2 * LEASE_MS);

    expect((await rival.acquire(acquiring({ candidateId: "b" }))).acquired).toBe(false);
  });

  test("a read that was overtaken by a newer one does not restart the time", async () => {
    const lease = await win(holder);
    recordsB.failNext("get", { kind: "slow", latencyMs: 4_000 });
    const overtaken = rival.read(ELECTION);
    // The service has replied with the first nonce. The reply is still under way when the second nonce is read.
    await clock.advance(2_500);
    await holder.renew(lease, LIMITS);
    await rival.read(ELECTION);
    const seenMs = clock.monotonicMs();
    await clock.runUntil(overtaken);

    await clock.advance(seenMs + LEASE_MS - 1 - clock.monotonicMs());
    expect((await rival.acquire(acquiring({ candidateId: "b" }))).acquired).toBe(false);
    await clock.advance(1);
    expect((await rival.acquire(acquiring({ candidateId: "b" }))).acquired).toBe(true);
  });

  test("a write of an administrator does not restart the time", async () => {
    await win(holder);
    await rival.read(ELECTION);
    await clock.advance(5_000);
    await rival.break(ELECTION, { reason: "maintenance" });
    await clock.advance(5_000);
    await rival.read(ELECTION);

    await clock.advance(5_000);

    expect(await state()).toBe("expired");
  });

  test("a rival whose clock runs a tenth fast still outwaits a holder's validity", async () => {
    const fast = new RecordLeaseStore(service.connect("fast"), {
      clock: new ProcessClock(clock, { rate: 1.1, wallOffsetMs: 7 * HOUR_MS }),
    });
    await win(holder);
    await fast.read(ELECTION);

    await clock.advance(LEASE_MS * 0.9);

    expect((await fast.acquire(acquiring({ candidateId: "fast" }))).acquired).toBe(false);
  });
});

describe("two proofs of expiry", () => {
  /** Returns a rival whose service returns ages, and a lease that is held. */
  async function clocked(exact: boolean): Promise<{ readonly records: FaultyRecordStore; readonly store: RecordLeaseStore }> {
    const records = service.connect("b", { storeClock: { toleranceMs: 1_000, exact } });
    await win(holder);
    return { records, store: new RecordLeaseStore(records, { clock }) };
  }

  test("a cold caller finds an expiry at once by the store's clock, if it asks for that", async () => {
    const { records, store } = await clocked(false);
    records.ageMs = [LEASE_MS, LEASE_MS + 2_000];

    expect((await store.read(ELECTION))?.state).toBe("unknown");
    expect((await store.read(ELECTION, { expiry: "store-clock" }))?.state).toBe("expired");
    expect((await store.acquire(acquiring({ candidateId: "b", expiry: "observed" }))).acquired).toBe(false);
    expect((await store.acquire(acquiring({ candidateId: "b", expiry: "store-clock" }))).acquired).toBe(true);
  });

  test("only the lower bound of the age decides", async () => {
    const { records, store } = await clocked(false);
    records.ageMs = [LEASE_MS - 1, LEASE_MS + 60_000];

    expect((await store.read(ELECTION, { expiry: "store-clock" }))?.state).toBe("unknown");
    expect((await store.acquire(acquiring({ candidateId: "b", expiry: "store-clock" }))).acquired).toBe(false);
  });

  test("a lease that may just have reached its duration is not reported as held", async () => {
    const { records, store } = await clocked(true);
    records.ageMs = [0, LEASE_MS];

    expect((await store.read(ELECTION))?.state).toBe("unknown");
  });

  test("an exact store clock counts, whatever this process's clock does", async () => {
    const { records, store } = await clocked(true);
    records.ageMs = [1_000, 1_000];
    await store.read(ELECTION);
    // This process was suspended meanwhile, and its monotonic clock stood still.
    records.ageMs = [LEASE_MS, LEASE_MS];

    expect((await store.read(ELECTION))?.state).toBe("expired");
  });

  test("an age grows by the monotonic clock until the next read", async () => {
    const { records, store } = await clocked(false);
    records.ageMs = [10_000, 11_000];
    await store.read(ELECTION, { expiry: "store-clock" });
    records.ageMs = undefined;

    await clock.advance(4_999);
    expect((await store.acquire(acquiring({ candidateId: "b", expiry: "store-clock" }))).acquired).toBe(false);
    await clock.advance(1);
    expect((await store.acquire(acquiring({ candidateId: "b", expiry: "store-clock" }))).acquired).toBe(true);
  });

  test("after a negative age, which proves a step of the store's clock, only observed expiry counts", async () => {
    const { records, store } = await clocked(false);
    records.ageMs = [-5_000, LEASE_MS * 2];

    await store.read(ELECTION);
    await clock.advance(LEASE_MS - 1);
    expect((await store.read(ELECTION, { expiry: "store-clock" }))?.state).not.toBe("expired");
    await clock.advance(1);
    expect((await store.read(ELECTION, { expiry: "store-clock" }))?.state).toBe("expired");
  });

  test("two ages that contradict the time between them prove a step, too", async () => {
    const { records, store } = await clocked(false);
    records.ageMs = [1_000, 1_100];
    await store.read(ELECTION, { expiry: "store-clock" });
    await clock.advance(2_000);

    // By the monotonic clock the nonce is 3 s old, but the service says 15 s. So the service's clock was set forward meanwhile.
    records.ageMs = [LEASE_MS, LEASE_MS + 100];

    expect((await store.read(ELECTION, { expiry: "store-clock" }))?.state).not.toBe("expired");
    expect((await store.acquire(acquiring({ candidateId: "b", expiry: "store-clock" }))).acquired).toBe(false);
  });

  test("the reported bounds contain the true age, even if the reply was slow", async () => {
    const { records, store } = await clocked(true);
    records.failNext("get", { kind: "slow", latencyMs: 2_000 });
    records.ageMs = [3_000, 3_000];

    // The service read its clock when the request arrived, a second before the reply arrived.
    const snapshot = await clock.runUntil(store.read(ELECTION));

    expect(snapshot!.ageMs![0]).toBeLessThanOrEqual(4_000);
    expect(snapshot!.ageMs![1]).toBeGreaterThanOrEqual(4_000);
  });
});
