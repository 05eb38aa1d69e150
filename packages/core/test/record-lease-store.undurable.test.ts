import { StoreError, timing } from "@leasehold/core";
import { RecordLeaseStore, RecordOccurrenceStore, type Lease } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { RecordService, type FaultyRecordStore } from "./faulty-record-store.ts";

/** The write is carried out and its reply is lost. A read shows the write, and a failover may undo it. */
const UNANSWERED = { kind: "unanswered" } as const;

let clock: VirtualClock;
let service: RecordService;
let records: FaultyRecordStore;
let store: RecordLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  service = new RecordService(clock);
  records = service.connect("a", { showsUndurable: true, latencyMs: 10 });
  store = new RecordLeaseStore(records, { clock });
});

function operations(sent = 0): string[] {
  return service.log.slice(sent).map(({ operation }) => operation);
}

async function held(): Promise<Lease> {
  return await clock.runUntil(win(store));
}

test("a store that shows what is not durable takes three round trips for a lost reply", () => {
  expect(store.capabilities).toMatchObject({ showsUndurable: true, roundTrips: 3 });
  const report = timing({}, store.capabilities);
  expect(report.roundTripMs).toBe(report.attemptTimeoutMs / 3);
  // A store may copy an option that is not set.
  Object.assign(records.capabilities, { roundTrips: undefined });
  expect(new RecordLeaseStore(records, { clock }).capabilities.roundTrips).toBe(3);
});

describe("an acquisition whose reply was lost", () => {
  test("counts from the send of a later write that is acknowledged", async () => {
    records.failNext("put", UNANSWERED);

    const outcome = await clock.runUntil(store.acquire(acquiring()));

    expect(operations()).toEqual(["get", "put", "get", "put"]);
    const confirming = service.log.at(-1);
    expect(outcome).toMatchObject({ acquired: true, lease: { term: 1 } });
    expect(outcome.acquired && outcome.lease.grantedAt.monotonicMs).toBe(confirming?.sentMs);
    expect(service.record(ELECTION)?.nonce).toBe(confirming?.record?.nonce);
    expect(service.log[1]?.record?.nonce).not.toBe(confirming?.record?.nonce);
  });

  test("does not lead while no later write is acknowledged", async () => {
    records.failNext("put", UNANSWERED, UNANSWERED);

    await expect(clock.runUntil(store.acquire(acquiring()))).rejects.toMatchObject({ code: "STORE_TIMEOUT" });

    // This process treats its own abandoned term as vacant. The first attempt learns the version, and the second one wins.
    expect(await clock.runUntil(store.acquire(acquiring()))).toMatchObject({ acquired: false });
    expect(await clock.runUntil(store.acquire(acquiring()))).toMatchObject({ acquired: true, lease: { term: 2 } });
  });

  test("does not lead if the later write meets another one", async () => {
    const admin = new RecordLeaseStore(service.connect("admin"), { clock });
    records.failNext("put", UNANSWERED, { kind: "slow", latencyMs: 1_000 });
    const acquiringNow = store.acquire(acquiring());
    await clock.advance(LIMITS.timeoutMs + 100);
    expect(operations()).toEqual(["get", "put", "get", "put"]);
    await admin.break(ELECTION, { reason: "stuck" });

    expect(await clock.runUntil(acquiringNow)).toMatchObject({ acquired: false });
  });
});

describe("a renewal whose reply was lost", () => {
  test("counts from the send of the renewal after it, which reads first, once that is acknowledged", async () => {
    const lease = await held();
    records.failNext("put", UNANSWERED);
    await clock.runUntil(store.renew(lease, LIMITS)).catch(() => undefined);
    const sent = service.log.length;

    const outcome = await clock.runUntil(store.renew(lease, LIMITS));

    expect(operations(sent)).toEqual(["get", "put"]);
    expect(outcome).toMatchObject({ held: true, extendedAt: { monotonicMs: service.log.at(-1)?.sentMs } });
  });

  test("does not extend the lease while no later write is acknowledged", async () => {
    const lease = await held();
    records.failAll(UNANSWERED, "put");

    for (let tries = 0; tries < 3; tries += 1) {
      await expect(clock.runUntil(store.renew(lease, LIMITS))).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    }
  });

  test("a value that a read shows as published is written once more", async () => {
    const lease = await held();
    records.failNext("put", UNANSWERED);
    await clock.runUntil(store.publish(lease, "http://a", LIMITS)).catch(() => undefined);
    const sent = service.log.length;

    expect(await clock.runUntil(store.publish(lease, "http://a", LIMITS))).toMatchObject({ held: true });

    expect(operations(sent)).toEqual(["get", "put"]);
    expect(service.record(ELECTION)).toMatchObject({ value: "http://a" });
  });
});

describe("the end of a term whose reply was lost", () => {
  test("a release that a read shows is reported as unconfirmed, without another write", async () => {
    const lease = await held();
    records.failNext("put", UNANSWERED);
    await clock.runUntil(store.release(lease, LIMITS)).catch(() => undefined);
    const sent = service.log.length;

    expect(await clock.runUntil(store.release(lease, LIMITS))).toBe("unconfirmed");

    expect(operations(sent)).toEqual(["get"]);
  });

  test("an occurrence that a read shows as done is written as done once more", async () => {
    const occurrences = new RecordOccurrenceStore(records, { clock });
    const claim = await clock.runUntil(win(occurrences));
    records.failNext("put", UNANSWERED);
    await clock.runUntil(occurrences.complete(claim, LIMITS)).catch(() => undefined);
    const sent = service.log.length;

    expect(await clock.runUntil(occurrences.complete(claim, LIMITS))).toBe("released");

    expect(operations(sent)).toEqual(["get", "put"]);
    expect(service.record(ELECTION)).toMatchObject({ done: true, termId: null });
  });

  test("an occurrence is not done while no write of that is acknowledged", async () => {
    const occurrences = new RecordOccurrenceStore(records, { clock });
    const claim = await clock.runUntil(win(occurrences));
    const failover = service.backUp(ELECTION);
    records.failNext("put", UNANSWERED, UNANSWERED);
    await expect(clock.runUntil(occurrences.complete(claim, LIMITS))).rejects.toBeInstanceOf(StoreError);
    await expect(clock.runUntil(occurrences.complete(claim, LIMITS))).rejects.toBeInstanceOf(StoreError);
    failover();

    expect(await clock.runUntil(occurrences.complete(claim, LIMITS))).toBe("released");

    expect(service.record(ELECTION)).toMatchObject({ done: true });
  });
});

describe("an administrator's order whose reply was lost", () => {
  test("a break that a read shows is written once more, and leaves the nonce as it is", async () => {
    const holder = new RecordLeaseStore(service.connect("holder"), { clock });
    await clock.runUntil(win(holder));
    const { nonce } = service.record(ELECTION) ?? {};
    const sent = service.log.length;
    records.failNext("put", UNANSWERED);

    expect(await clock.runUntil(store.break(ELECTION, { reason: "stuck" }))).toEqual({ broken: true, term: 1 });

    expect(operations(sent)).toEqual(["get", "put", "get", "put"]);
    expect(service.record(ELECTION)).toMatchObject({ nonce, broken: { reason: "stuck" } });
  });

  test("a break is not carried out while no write of it is acknowledged", async () => {
    await held();
    records.failAll(UNANSWERED, "put");

    await expect(clock.runUntil(store.break(ELECTION, { reason: "stuck" }))).rejects.toMatchObject({ mayHaveBeenApplied: true });
  });

  test("a transfer that a read shows is written once more, under the same order", async () => {
    const holder = new RecordLeaseStore(service.connect("holder"), { clock });
    await clock.runUntil(win(holder));
    records.failNext("put", UNANSWERED);
    const sent = service.log.length;
    const transferring = store.transfer(ELECTION, "b", { transferTimeoutMs: 5_000 });
    transferring.catch(() => undefined);
    await clock.advance(LIMITS.timeoutMs + 5_000);

    const orders = service.log.slice(sent).filter(({ operation }) => operation === "put");
    expect(orders).toHaveLength(2);
    expect(orders[0]?.record?.bars).toHaveLength(1);
    expect(orders[1]?.record?.bars).toEqual(orders[0]?.record?.bars);
    expect(orders[1]?.record?.nonce).toBe(orders[0]?.record?.nonce);
  });

  test("a term that a read shows as over counts as broken once that is written again", async () => {
    const holder = new RecordLeaseStore(service.connect("holder"), { clock });
    const lease = await clock.runUntil(win(holder));
    records.failNext("put", { kind: "lost" });
    const breaking = store.break(ELECTION, { reason: "stuck", ifTerm: 1 });
    await clock.advance(100);
    await holder.release(lease, LIMITS);
    await clock.runUntil(win(holder, { candidateId: "b" }));
    const before = service.record(ELECTION);
    const sent = service.log.length;

    expect(await clock.runUntil(breaking)).toMatchObject({ broken: true, term: 1 });

    expect(operations(sent)).toEqual(["get", "put"]);
    expect(service.record(ELECTION)).toEqual(before);
  });
});
