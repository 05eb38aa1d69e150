import { RecordLeaseStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { RecordService, type FaultyRecordStore } from "./faulty-record-store.ts";

let clock: VirtualClock;
let service: RecordService;
let adminRecords: FaultyRecordStore;
let admin: RecordLeaseStore;
let candidate: RecordLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  service = new RecordService(clock);
  adminRecords = service.connect("admin");
  admin = new RecordLeaseStore(adminRecords, { clock });
  candidate = new RecordLeaseStore(service.connect("a"), { clock });
});

describe("repair of a record that is gone", () => {
  beforeEach(async () => {
    for (const _ of [1, 2]) await candidate.release(await win(candidate), LIMITS);
  });

  test("vacates it below minTerm and holds it for one lease; the next term is minTerm", async () => {
    service.remove(ELECTION);

    const outcome = await admin.repair(ELECTION, { minTerm: 100, leaseDurationMs: LEASE_MS });

    expect(outcome).toEqual({ repaired: true, minTerm: 100, holdMs: LEASE_MS });
    expect(service.record(ELECTION)).toMatchObject({ term: 99, termId: null, bars: [{ untilMs: LEASE_MS, except: null }] });
    await candidate.read(ELECTION);
    await clock.advance(LEASE_MS - 1);
    expect(await candidate.acquire(acquiring())).toMatchObject({ acquired: false });
    await clock.advance(1);
    expect(await candidate.acquire(acquiring({ aboveTerm: 2 }))).toMatchObject({ acquired: true, lease: { term: 100 } });
  });

  test("uses the highest term that this process observed, plus a thousand", async () => {
    await admin.read(ELECTION);
    service.remove(ELECTION);

    expect(await admin.repair(ELECTION)).toEqual({ repaired: true, minTerm: 1_002, holdMs: LEASE_MS });
  });

  test("requires minTerm if nothing shows the earlier terms", async () => {
    service.remove(ELECTION);

    await expect(admin.repair(ELECTION)).rejects.toMatchObject({
      code: "CONFIGURATION",
      message: expect.stringContaining("minTerm"),
    });
    expect(service.record(ELECTION)).toBeUndefined();
  });
});

describe("repair of a record that is there", () => {
  test("leaves a lease that is held as it is", async () => {
    const lease = await win(candidate);
    const before = service.record(ELECTION);

    const outcome = await admin.repair(ELECTION, { minTerm: 100 });

    expect(outcome).toMatchObject({ repaired: false, current: { term: 1, holder: "a" } });
    expect(service.record(ELECTION)).toEqual(before);
    expect(await candidate.renew(lease, LIMITS)).toMatchObject({ held: true });
  });

  test("vacates a broken lease, and holds it for as long as its holder may count itself leader", async () => {
    await win(candidate);
    await admin.break(ELECTION, { reason: "restored" });

    expect(await admin.repair(ELECTION, { minTerm: 100 })).toEqual({ repaired: true, minTerm: 100, holdMs: LEASE_MS });

    const after = service.record(ELECTION);
    expect(after).toMatchObject({ term: 99, termId: null, bars: [{ untilMs: LEASE_MS, except: null }] });
    expect(after).not.toHaveProperty("broken");
  });

  test("shows the reason until the next candidate acquires", async () => {
    await candidate.release(await win(candidate), LIMITS);
    await admin.repair(ELECTION, { minTerm: 2, leaseDurationMs: 1_000, reason: "restored" });
    expect(await admin.read(ELECTION)).toMatchObject({ state: "vacant", term: 1, endingReason: "restored" });
    await candidate.read(ELECTION);
    await clock.advance(1_000);
    expect(await win(candidate)).toMatchObject({ term: 2 });
    expect(await admin.read(ELECTION)).not.toHaveProperty("endingReason");
  });

  test.each([
    ["a reason that is no text", { minTerm: 100, reason: 7 as never }],
    ["a minTerm that is not above its term", { minTerm: 1 }],
    ["a minTerm after which too few terms are left", { minTerm: Number.MAX_SAFE_INTEGER - 2 ** 32 + 1 }],
    ["a minTerm that is no whole number", { minTerm: 1.5 }],
    ["a lease that no store takes", { minTerm: 100, leaseDurationMs: 0 }],
  ])("refuses %s, and writes nothing", async (_, options) => {
    await candidate.release(await win(candidate), LIMITS);
    const before = service.record(ELECTION);

    await expect(admin.repair(ELECTION, options)).rejects.toMatchObject({ code: "CONFIGURATION" });
    expect(service.record(ELECTION)).toEqual(before);
  });
});

describe("repair whose reply is lost", () => {
  test("is found by reading, and not repeated", async () => {
    adminRecords.failNext("put", { kind: "unanswered" });

    expect(await clock.runUntil(admin.repair(ELECTION, { minTerm: 5 }))).toMatchObject({ repaired: true, minTerm: 5 });

    expect(service.count("admin", "put")).toBe(1);
  });

  test("is written once more if a failover may undo the record that a read shows", async () => {
    const records = service.connect("careful", { showsUndurable: true });
    records.failNext("put", { kind: "unanswered" });
    const careful = new RecordLeaseStore(records, { clock });

    expect(await clock.runUntil(careful.repair(ELECTION, { minTerm: 5 }))).toMatchObject({ repaired: true, minTerm: 5 });

    expect(service.count("careful", "put")).toBe(2);
  });

  test("rejects with an unknown outcome if no reply ever comes", async () => {
    adminRecords.failAll({ kind: "lost" }, "put");

    await expect(clock.runUntil(admin.repair(ELECTION, { minTerm: 5 }))).rejects.toMatchObject({ mayHaveBeenApplied: true });
  });
});
