import { RecordLeaseStore, type Lease } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { RecordService, type FaultyRecordStore } from "./faulty-record-store.ts";

let clock: VirtualClock;
let service: RecordService;
let records: FaultyRecordStore;
let store: RecordLeaseStore;
let rival: RecordLeaseStore;
let lease: Lease;

beforeEach(async () => {
  clock = new VirtualClock();
  service = new RecordService(clock);
  records = service.connect("a");
  store = new RecordLeaseStore(records, { clock });
  rival = new RecordLeaseStore(service.connect("b"), { clock });
  lease = await win(store, { value: "http://a" });
});

/** Waits until the rival has seen the lease run out, and lets it take over. */
async function overtake(): Promise<Lease> {
  await rival.read(ELECTION);
  await clock.advance(LEASE_MS);
  return await win(rival, { candidateId: "b" });
}

describe("release", () => {
  test("is one put that leaves the term and takes away holder and value", async () => {
    const sent = service.log.length;

    expect(await store.release(lease, LIMITS)).toBe("released");

    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["put"]);
    expect(service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
    const snapshot = await rival.read(ELECTION);
    expect(snapshot).toMatchObject({ state: "vacant", term: 1 });
    expect(snapshot).not.toHaveProperty("holder");
    expect(snapshot).not.toHaveProperty("value");
  });
});

describe("release frees only its own term", () => {
  test("not that of a successor", async () => {
    const successor = await overtake();

    expect(await store.release(lease, LIMITS)).toBe("not-held");

    expect(service.record(ELECTION)).toMatchObject({ term: 2, termId: successor.termId, candidateId: "b" });
    expect((await rival.renew(successor, LIMITS)).held).toBe(true);
  });

  test("not that of a successor with the very same candidateId", async () => {
    await rival.read(ELECTION);
    await clock.advance(LEASE_MS);
    const successor = await win(rival);

    expect(await store.release(lease, LIMITS)).toBe("not-held");
    expect(service.record(ELECTION)).toMatchObject({ term: 2, termId: successor.termId });
  });

  test("twice harms nobody", async () => {
    await store.release(lease, LIMITS);
    const successor = await win(rival, { candidateId: "b" });

    expect(await store.release(lease, LIMITS)).toBe("not-held");
    expect((await rival.renew(successor, LIMITS)).held).toBe(true);
  });

  test("of a record that is gone makes no new one", async () => {
    service.remove(ELECTION);

    expect(await store.release(lease, LIMITS)).toBe("not-held");
    expect(service.record(ELECTION)).toBeUndefined();
  });

  test("a renewal that arrives after the release does not bring the lease back", async () => {
    records.failNext("put", { kind: "late", byMs: 5_000 });
    await clock.runUntil(store.renew(lease, LIMITS)).catch(() => undefined);

    expect(await store.release(lease, LIMITS)).toBe("released");
    await clock.advance(10_000);

    expect(service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
  });

  test("needs no more than itself after a renewal that was lost", async () => {
    records.failNext("put", { kind: "lost" });
    await clock.runUntil(store.renew(lease, LIMITS)).catch(() => undefined);
    const sent = service.log.length;

    expect(await store.release(lease, LIMITS)).toBe("released");
    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["put"]);
  });

  test("a renewal whose reply was lost is found, and released all the same", async () => {
    records.failNext("put", { kind: "unanswered" });
    await clock.runUntil(store.renew(lease, LIMITS)).catch(() => undefined);
    const sent = service.log.length;

    expect(await store.release(lease, LIMITS)).toBe("released");
    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["put", "get", "put"]);
    expect(service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
  });

  test("that is late itself does not undo the one that was sent after it, nor touch the successor", async () => {
    records.failNext("put", { kind: "late", byMs: 5_000 });
    await clock.runUntil(store.release(lease, LIMITS)).catch(() => undefined);
    expect(await store.release(lease, LIMITS)).toBe("released");
    const successor = await win(rival, { candidateId: "b" });

    await clock.advance(10_000);

    expect(service.record(ELECTION)).toMatchObject({ term: 2, termId: successor.termId });
    expect((await rival.renew(successor, LIMITS)).held).toBe(true);
  });

  test("whose reply was lost, after which another has acquired, is not held any more", async () => {
    records.failNext("put", { kind: "unanswered" });
    await clock.runUntil(store.release(lease, LIMITS)).catch(() => undefined);
    const successor = await win(rival, { candidateId: "b" });

    expect(await store.release(lease, LIMITS)).toBe("not-held");
    expect(service.record(ELECTION)).toMatchObject({ term: 2, termId: successor.termId });
  });

  test("a renewal that arrives right before the release does not hinder it", async () => {
    records.failNext("put", { kind: "late", byMs: 1_200 }, { kind: "slow", latencyMs: 800 });
    await clock.runUntil(store.renew(lease, LIMITS)).catch(() => undefined);

    expect(await clock.runUntil(store.release(lease, LIMITS))).toBe("released");
    expect(service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
  });

  test("that was carried out although its reply was lost is found done", async () => {
    records.failNext("put", { kind: "unanswered" });

    await expect(clock.runUntil(store.release(lease, LIMITS))).rejects.toMatchObject({ code: "STORE_TIMEOUT" });

    expect(await store.release(lease, LIMITS)).toBe("released");
    expect(service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
  });

  test("is tried again when an administrator slips in between, and what that one reserved outlives the holder", async () => {
    records.failNext("put", { kind: "slow", latencyMs: 800 });
    const releasing = store.release(lease, LIMITS);
    void rival.transfer(ELECTION, "b", { transferTimeoutMs: 60_000 });
    await clock.settle();

    expect(await clock.runUntil(releasing)).toBe("released");
    expect(await rival.read(ELECTION)).toMatchObject({ state: "vacant", bar: { kind: "transfer", candidateId: "b" } });
  });

  test("against others who keep writing is a conflict, after a few tries", async () => {
    records.put = () => Promise.resolve({ stored: false });

    await expect(store.release(lease, LIMITS)).rejects.toMatchObject({ code: "STORE_CONFLICT", operation: "release" });
  });

  test("is remembered until another term is seen: should a backup bring the record back, it says what it says", async () => {
    const backup = service.record(ELECTION);
    await store.release(lease, LIMITS);
    await win(rival, { candidateId: "b" });
    await store.read(ELECTION);
    service.overwrite(ELECTION, backup);

    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "held", term: 1, holder: "a" });
  });

  test("of a broken term shortens the wait", async () => {
    await rival.break(ELECTION, { reason: "maintenance" });

    expect(await store.release(lease, LIMITS)).toBe("released");
    expect(await rival.read(ELECTION)).toMatchObject({ state: "vacant" });
  });
});
