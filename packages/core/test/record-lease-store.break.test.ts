import { ConfigurationError } from "@leasehold/core";
import { RecordLeaseStore, type Lease } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { RecordService, type FaultyRecordStore } from "./faulty-record-store.ts";

let clock: VirtualClock;
let service: RecordService;
let holder: RecordLeaseStore;
let rival: RecordLeaseStore;
let adminRecords: FaultyRecordStore;
let admin: RecordLeaseStore;
let lease: Lease;

beforeEach(async () => {
  clock = new VirtualClock();
  service = new RecordService(clock);
  holder = new RecordLeaseStore(service.connect("a"), { clock });
  rival = new RecordLeaseStore(service.connect("b"), { clock });
  adminRecords = service.connect("admin");
  admin = new RecordLeaseStore(adminRecords, { clock });
  lease = await win(holder);
  await rival.read(ELECTION);
});

describe("a break", () => {
  test("closes renewal at once", async () => {
    expect(await admin.break(ELECTION, { reason: "maintenance" })).toEqual({ broken: true, term: 1 });

    expect(await holder.renew(lease, LIMITS)).toMatchObject({
      held: false,
      reason: "broken",
      explanation: expect.stringContaining("maintenance") as string,
    });
  });

  test("lets nobody acquire until the rest of the lease has passed", async () => {
    await clock.advance(6_000);
    await admin.break(ELECTION, { reason: "maintenance" });

    await clock.advance(LEASE_MS - 6_001);
    await rival.read(ELECTION);
    expect((await rival.acquire(acquiring({ candidateId: "b" }))).acquired).toBe(false);
    expect((await holder.acquire(acquiring())).acquired).toBe(false);

    await clock.advance(1);
    expect((await rival.acquire(acquiring({ candidateId: "b" }))).acquired).toBe(true);
  });

  test("leaves the term to the next acquisition", async () => {
    await admin.break(ELECTION, { reason: "maintenance" });
    expect(service.record(ELECTION)).toMatchObject({ term: 1, termId: lease.termId });
    await clock.advance(LEASE_MS);
    await rival.read(ELECTION);

    expect((await win(rival, { candidateId: "b" })).term).toBe(2);
    expect(service.record(ELECTION)).not.toHaveProperty("broken");
  });

  test("is seen by readers, with its reason", async () => {
    await holder.renew(lease, LIMITS);
    await rival.read(ELECTION);
    await admin.break(ELECTION, { reason: "maintenance" });

    expect(await rival.read(ELECTION)).toMatchObject({ state: "ending", holder: "a", endingReason: "maintenance" });
  });

  test("with immediate skips the wait: rivals may acquire, and the holder finds its lease gone", async () => {
    expect(await admin.break(ELECTION, { reason: "emergency", immediate: true })).toEqual({ broken: true, term: 1 });
    await rival.read(ELECTION);

    expect((await win(rival, { candidateId: "b" })).term).toBe(2);
    expect(await holder.renew(lease, LIMITS)).toMatchObject({ held: false, reason: "taken", barredUntilExpiry: false });
  });

  test("of a term that has passed spares the successor", async () => {
    await clock.advance(LEASE_MS);
    const successor = await win(rival, { candidateId: "b" });

    const outcome = await admin.break(ELECTION, { reason: "late", ifTerm: 1 });

    expect(outcome).toMatchObject({ broken: false, current: { term: 2, holder: "b" } });
    expect((await rival.renew(successor, LIMITS)).held).toBe(true);
  });

  test("without ifTerm breaks the term that it read, not one that slips in between", async () => {
    adminRecords.failNext("put", { kind: "slow", latencyMs: 400 });
    const breaking = admin.break(ELECTION, { reason: "slow" });
    await clock.settle();
    await holder.release(lease, LIMITS);
    await rival.read(ELECTION);
    const successor = await win(rival, { candidateId: "b" });

    expect(await clock.runUntil(breaking)).toMatchObject({ broken: false, current: { term: 2 } });
    expect((await rival.renew(successor, LIMITS)).held).toBe(true);
  });

  test("is tried again when a renewal slips in between", async () => {
    adminRecords.failNext("put", { kind: "slow", latencyMs: 400 });
    const breaking = admin.break(ELECTION, { reason: "maintenance" });
    await clock.settle();
    await holder.renew(lease, LIMITS);

    expect(await clock.runUntil(breaking)).toEqual({ broken: true, term: 1 });
    expect((await holder.renew(lease, LIMITS)).held).toBe(false);
  });

  test.each([{}, { immediate: true }])("of a lease that nobody holds changes nothing (%j)", async (options) => {
    await holder.release(lease, LIMITS);
    const before = service.record(ELECTION);

    expect(await admin.break(ELECTION, { reason: "idle", ...options })).toMatchObject({
      broken: false,
      current: { state: "vacant" },
    });
    expect(service.record(ELECTION)).toEqual(before);
  });

  test("against others who keep writing is a conflict, after a few tries", async () => {
    adminRecords.put = () => Promise.resolve({ stored: false });

    await expect(admin.break(ELECTION, { reason: "maintenance" })).rejects.toMatchObject({
      code: "STORE_CONFLICT",
      operation: "break",
    });
    await expect(admin.transfer(ELECTION, "b")).rejects.toMatchObject({ code: "STORE_CONFLICT", operation: "transfer" });
  });

  test("of an election that never was says so, and makes no record", async () => {
    expect(await admin.break("unheard-of", { reason: "typo" })).toEqual({ broken: false, current: undefined });
    expect(service.record("unheard-of")).toBeUndefined();
  });

  test.each([0, 1.5, NaN])("with %d for ifTerm is refused before any request", async (ifTerm) => {
    const sent = service.log.length;

    await expect(admin.break(ELECTION, { reason: "typo", ifTerm })).rejects.toBeInstanceOf(ConfigurationError);
    await expect(admin.transfer(ELECTION, "b", { ifTerm })).rejects.toBeInstanceOf(ConfigurationError);
    expect(service.log).toHaveLength(sent);
  });

  // A record that nobody can read would be left untouched for good: foreign data is not ours.
  test.each([undefined, 7, null, "\ud800", "x".repeat(501)])(
    "with %j for a reason is refused, and the record stays readable",
    async (reason) => {
      await expect(admin.break(ELECTION, { reason: reason as unknown as string })).rejects.toBeInstanceOf(ConfigurationError);

      expect((await holder.renew(lease, LIMITS)).held).toBe(true);
    },
  );
});
