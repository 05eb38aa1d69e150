import { ConfigurationError, type TransferOutcome } from "@leasehold/core";
import { RecordLeaseStore, type Lease } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { RecordService } from "./faulty-record-store.ts";

let clock: VirtualClock;
let service: RecordService;
let holder: RecordLeaseStore;
let named: RecordLeaseStore;
let other: RecordLeaseStore;
let admin: RecordLeaseStore;
let lease: Lease;

beforeEach(async () => {
  clock = new VirtualClock();
  service = new RecordService(clock);
  [holder, named, other, admin] = ["a", "b", "c", "admin"].map(
    (name) => new RecordLeaseStore(service.connect(name), { clock }),
  ) as [RecordLeaseStore, RecordLeaseStore, RecordLeaseStore, RecordLeaseStore];
  lease = await win(holder);
});

/** Asks for a transfer to b, and waits until it is asked for. */
async function transferring(
  options: { readonly ifTerm?: number; readonly transferTimeoutMs?: number } = {},
): Promise<{ readonly outcome: Promise<TransferOutcome> }> {
  const outcome = admin.transfer(ELECTION, "b", { transferTimeoutMs: 5_000, ...options });
  outcome.catch(() => undefined);
  await clock.settle();
  return { outcome };
}

describe("a transfer", () => {
  test("leaves a holder whose release has failed waiting for the named candidate like everybody else", async () => {
    await holder.release(lease, LIMITS);
    const records = service.connect("d");
    const leaving = new RecordLeaseStore(records, { clock });
    const mine = await win(leaving, { candidateId: "d" });
    await transferring();
    await leaving.renew(mine, LIMITS);
    records.failAll({ kind: "unavailable" });
    await expect(leaving.release(mine, LIMITS)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    records.heal();
    await clock.advance(LEASE_MS - 1_000);

    await expect(leaving.read(ELECTION)).resolves.toMatchObject({ state: "vacant", bar: { kind: "transfer", candidateId: "b" } });
    await expect(leaving.acquire(acquiring({ candidateId: "d" }))).resolves.toMatchObject({ acquired: false });
  });

  test("tells the holder at its next renewal, and never moves the nonce that rivals time", async () => {
    const { nonce } = service.record(ELECTION)!;

    await transferring();

    expect(service.record(ELECTION)!.nonce).toBe(nonce);
    expect(await holder.renew(lease, LIMITS)).toMatchObject({ held: true, transferTo: "b" });
    expect(await holder.renew(lease, LIMITS)).toMatchObject({ held: true, transferTo: "b" });
  });

  test("is seen by readers as the term's ending", async () => {
    await other.read(ELECTION);
    await holder.renew(lease, LIMITS);
    await other.read(ELECTION);
    await transferring();

    expect(await other.read(ELECTION)).toMatchObject({ state: "ending", holder: "a" });
  });

  test("is accepted when the named candidate leads", async () => {
    const { outcome } = await transferring();
    await holder.renew(lease, LIMITS);
    await holder.release(lease, LIMITS);
    await named.read(ELECTION);

    expect((await named.acquire(acquiring({ candidateId: "b" }))).acquired).toBe(true);
    expect(await clock.runUntil(outcome)).toBe("accepted");
  });

  test("keeps everybody else away until its time has passed, then lets anyone in", async () => {
    const { outcome } = await transferring();
    await holder.release(lease, LIMITS);

    expect(await other.read(ELECTION)).toMatchObject({ state: "vacant", bar: { kind: "transfer", candidateId: "b" } });
    await clock.advance(4_999);
    expect((await other.acquire(acquiring({ candidateId: "c" }))).acquired).toBe(false);
    await clock.advance(1);
    expect((await other.acquire(acquiring({ candidateId: "c" }))).acquired).toBe(true);
    expect(await clock.runUntil(outcome)).toBe("lost");
  });

  test("expires when nobody came", async () => {
    const { outcome } = await transferring();
    await holder.release(lease, LIMITS);
    await other.read(ELECTION);

    expect(await clock.runUntil(outcome)).toBe("expired");
    expect(await other.read(ELECTION)).not.toHaveProperty("bar");
  });

  test("from a leader that died is still for the named candidate first, once the lease has run out", async () => {
    const { outcome } = await transferring();
    await Promise.all([named.read(ELECTION), other.read(ELECTION)]);

    await clock.advance(LEASE_MS);
    expect((await other.acquire(acquiring({ candidateId: "c" }))).acquired).toBe(false);
    expect((await named.acquire(acquiring({ candidateId: "b" }))).acquired).toBe(true);
    expect(await clock.runUntil(outcome)).toBe("accepted");
  });

  test("of a lease that is free reserves it from now on", async () => {
    await holder.release(lease, LIMITS);
    await other.read(ELECTION);
    await clock.advance(60_000);
    const { outcome } = await transferring();

    await other.read(ELECTION);
    expect((await other.acquire(acquiring({ candidateId: "c" }))).acquired).toBe(false);
    await named.read(ELECTION);
    expect((await named.acquire(acquiring({ candidateId: "b" }))).acquired).toBe(true);
    expect(await clock.runUntil(outcome)).toBe("accepted");
  });

  test("of a term that has passed is lost, and the successor is not asked", async () => {
    await holder.release(lease, LIMITS);
    await other.read(ELECTION);
    const successor = await win(other, { candidateId: "c" });

    expect(await admin.transfer(ELECTION, "b", { ifTerm: 1 })).toBe("lost");
    expect(await other.renew(successor, LIMITS)).not.toHaveProperty("transferTo");
  });

  test("of an election that never was is lost", async () => {
    expect(await admin.transfer("unheard-of", "b")).toBe("lost");
    expect(service.record("unheard-of")).toBeUndefined();
  });

  test("is lost when the term is broken meanwhile", async () => {
    const { outcome } = await transferring();
    await admin.break(ELECTION, { reason: "maintenance" });

    expect(await clock.runUntil(outcome)).toBe("lost");
  });

  test("does not outlive the term that it ended", async () => {
    const { outcome } = await transferring();
    await holder.release(lease, LIMITS);
    await named.read(ELECTION);
    await win(named, { candidateId: "b" });

    expect(await clock.runUntil(outcome)).toBe("accepted");
    expect(service.record(ELECTION)).not.toHaveProperty("transfer");
  });

  test("stops waiting when its signal aborts, with the signal's reason; the request stands", async () => {
    const controller = new AbortController();
    const outcome = admin.transfer(ELECTION, "b", { signal: controller.signal });
    await clock.settle();

    controller.abort("never mind");

    await expect(outcome).rejects.toBe("never mind");
    expect(await holder.renew(lease, LIMITS)).toMatchObject({ transferTo: "b" });
    expect(clock.pendingTimers).toBe(0);
  });

  // A record that nobody can read would be left untouched for good: foreign data is not ours.
  test.each([NaN, Infinity, 0, -1])(
    "with a timeout of %d is refused, and the record stays readable",
    async (transferTimeoutMs) => {
      const outcome = admin.transfer(ELECTION, "b", { transferTimeoutMs });
      outcome.catch(() => undefined);
      await clock.settle();

      expect((await holder.renew(lease, LIMITS)).held).toBe(true);
      await expect(clock.runUntil(outcome)).rejects.toBeInstanceOf(ConfigurationError);
    },
  );

  test("to a name that is none is refused before any request", async () => {
    const sent = service.log.length;

    await expect(admin.transfer(ELECTION, "")).rejects.toBeInstanceOf(ConfigurationError);
    expect(service.log).toHaveLength(sent);
  });
});
