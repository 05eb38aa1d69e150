import { Elector } from "@leasehold/core";
import { RecordLeaseStore, type StoredRecord } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { RecordService } from "./faulty-record-store.ts";
import { lostRecord } from "../src/records/lost-record.ts";
import { vacantRecord } from "../src/records/record-store.ts";

const UNKNOWN_LEASE_MS = 60_000;

let clock: VirtualClock;
let service: RecordService;
/** The term that the fence remembers. */
let lostTerm: number | undefined;

/** Returns a store whose fence remembers a term. */
function open(candidate: string): RecordLeaseStore {
  const records = service.connect(candidate);
  const get = records.get.bind(records);
  records.get = async (election): Promise<StoredRecord | undefined> => {
    const lost = { data: undefined, version: undefined as unknown as string, lostTerm };
    return (await get(election)) ?? (lostTerm === undefined ? undefined : lost);
  };
  return new RecordLeaseStore(records, { clock });
}

beforeEach(() => {
  clock = new VirtualClock();
  service = new RecordService(clock);
  lostTerm = 7;
});

describe("a record that is gone and whose fence remembers term 7", () => {
  test("is led at a higher term, one lease after this process noticed", async () => {
    const standby = open("b");
    lostTerm = undefined;
    await win(open("a"), { minTerm: 7 });
    lostTerm = 7;
    await standby.read(ELECTION);
    service.remove(ELECTION);

    expect(await standby.read(ELECTION)).toMatchObject({ state: "vacant", term: 7, bar: { kind: "hold", leftMs: LEASE_MS } });
    await clock.advance(LEASE_MS - 1);
    expect(await standby.acquire(acquiring())).toMatchObject({ acquired: false });
    await clock.advance(1);
    expect(await standby.acquire(acquiring({ aboveTerm: 7 }))).toMatchObject({ acquired: true, lease: { term: 8 } });
  });

  test("is held for a minute by a process that never observed the lease", async () => {
    expect(await open("cold").read(ELECTION)).toMatchObject({ term: 7, bar: { kind: "hold", leftMs: UNKNOWN_LEASE_MS } });
  });

  test("is held for the lease of a candidate that never observed it, if that is longer, and the store keeps the hold", async () => {
    const leaseDurationMs = 5 * UNKNOWN_LEASE_MS;
    const cold = open("cold");
    expect(await cold.acquire(acquiring({ leaseDurationMs }))).toMatchObject({ acquired: false });
    expect(service.record(ELECTION)).toMatchObject({ term: 7, termId: null, bars: [{ untilMs: leaseDurationMs, except: null }] });
    await clock.advance(leaseDurationMs - 1);
    expect(await cold.acquire(acquiring())).toMatchObject({ acquired: false, current: { bar: { kind: "hold" } } });
    await clock.advance(1);
    expect(await cold.acquire(acquiring())).toMatchObject({ acquired: true, lease: { term: 8 } });
  });

  test("is led again by cold callers, because the first one makes the store count the hold", async () => {
    const outcome = await new Elector({ store: open("first"), election: ELECTION, clock, logger: false }).tryRun(() => "done");
    expect(outcome).toMatchObject({ elected: false });
    await clock.advance(UNKNOWN_LEASE_MS);
    const storeClock = { toleranceMs: 100, exact: true };
    const records = service.connect("next", { storeClock });
    records.ageMs = [UNKNOWN_LEASE_MS, UNKNOWN_LEASE_MS];
    const next = new RecordLeaseStore(records, { clock });
    expect(await next.acquire(acquiring({ expiry: "store-clock" }))).toMatchObject({ acquired: true, lease: { term: 8 } });
  });

  test("is held anew when it is lost a second time, at a later term", async () => {
    const standby = open("b");
    await standby.read(ELECTION);
    await clock.advance(UNKNOWN_LEASE_MS);
    lostTerm = 9;
    expect(await standby.read(ELECTION)).toMatchObject({ term: 9, bar: { kind: "hold", leftMs: UNKNOWN_LEASE_MS } });
  });

  test("is held for the lease of an unknown process if this one observed only an older term", async () => {
    const standby = open("b");
    lostTerm = undefined;
    await win(open("a"), { minTerm: 6, leaseDurationMs: 10_000 });
    await standby.read(ELECTION);
    service.remove(ELECTION);
    lostTerm = 7;
    expect(await standby.read(ELECTION)).toMatchObject({ term: 7, bar: { kind: "hold", leftMs: UNKNOWN_LEASE_MS } });
  });

  test.each([
    [
      "a pause that is lifted",
      async (admin: RecordLeaseStore) => [await admin.pause(ELECTION, { reason: "r" }), await admin.resume(ELECTION)],
    ],
    ["a break", async (admin: RecordLeaseStore) => await admin.break(ELECTION, { reason: "r" })],
  ])("gets an age that the store counts by %s", async (_, order) => {
    const records = service.connect("admin");
    const put = vi.spyOn(records, "put");
    const get = records.get.bind(records);
    records.get = async (election): Promise<StoredRecord | undefined> =>
      (await get(election)) ?? { data: undefined, version: undefined as unknown as string, lostTerm };
    await order(new RecordLeaseStore(records, { clock }));
    expect(put.mock.calls[0]?.[2]).toMatchObject({ keepsNonce: false });
  });

  test("stays paused if a process knows of the pause", async () => {
    const admin = open("admin");
    lostTerm = undefined;
    await win(open("a"), { minTerm: 7 });
    await admin.pause(ELECTION, { reason: "restoring" });
    lostTerm = 7;
    service.remove(ELECTION);
    expect(await admin.read(ELECTION)).toMatchObject({ term: 7, bar: { kind: "pause", reason: "restoring" } });
    await expect(admin.acquire(acquiring())).resolves.toMatchObject({ acquired: false });
    expect(service.record(ELECTION)).toMatchObject({ bars: [{ untilMs: LEASE_MS }, { untilMs: null, reason: "restoring" }] });
  });

  test("is a loss for its leader", async () => {
    const leader = open("a");
    lostTerm = undefined;
    const lease = await win(leader, { minTerm: 7 });
    lostTerm = 7;
    service.remove(ELECTION);

    expect(await leader.renew(lease, LIMITS)).toMatchObject({ held: false, reason: "missing" });
    expect(await leader.release(lease, LIMITS)).toBe("not-held");
    expect(service.record(ELECTION)).toBeUndefined();
  });

  test("keeps its hold after a break, and loses it after an immediate break", async () => {
    const admin = open("admin");

    expect(await admin.break(ELECTION, { reason: "stuck" })).toEqual({ broken: true, term: 7 });
    expect(service.record(ELECTION)).toMatchObject({
      term: 7,
      termId: null,
      bars: [{ untilMs: UNKNOWN_LEASE_MS, except: null }],
    });

    service.remove(ELECTION);
    expect(await admin.break(ELECTION, { reason: "stuck", immediate: true })).toEqual({ broken: true, term: 7 });
    expect(service.record(ELECTION)).not.toHaveProperty("bars");
  });

  test("is repaired a thousand terms above", async () => {
    expect(await open("admin").repair(ELECTION)).toEqual({ repaired: true, minTerm: 1_007, holdMs: UNKNOWN_LEASE_MS });
    expect(service.record(ELECTION)).toMatchObject({ term: 1_006 });
  });
});

test.each([
  { known: undefined, leaseDurationMs: 60_000, candidateId: null },
  { known: { term: 3, leaseDurationMs: 90_000 }, leaseDurationMs: 90_000, candidateId: "a" },
  { known: { term: 3, leaseDurationMs: 9_000 }, leaseDurationMs: 60_000, candidateId: "a" },
  { known: { term: 4, leaseDurationMs: 9_000 }, leaseDurationMs: 9_000, candidateId: "a" },
])("a lost term 4 is held for the longest lease that it may have: $known", ({ known, leaseDurationMs, candidateId }) => {
  const record = known && vacantRecord({ ...known, candidateId: "a", nonce: "n" });
  expect(lostRecord(4, record)).toMatchObject({ term: 4, leaseDurationMs, candidateId });
});
