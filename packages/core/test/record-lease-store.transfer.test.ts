import { ConfigurationError } from "@leasehold/core";
import { type TransferOutcome, RecordLeaseStore, type Lease } from "@leasehold/core/provider";
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

/** Orders a transfer to b, and waits until the order is written. */
async function transferring(
  options: { readonly ifTerm?: number; readonly transferTimeoutMs?: number } = {},
): Promise<{ readonly outcome: Promise<TransferOutcome> }> {
  const outcome = admin.transfer(ELECTION, "b", { transferTimeoutMs: 5_000, ...options });
  outcome.catch(() => undefined);
  await clock.settle();
  return { outcome };
}

describe("a transfer", () => {
  test("makes a holder whose release has failed wait for the named candidate, as others do", async () => {
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

  test("makes readers find the term ending", async () => {
    await other.read(ELECTION);
    await holder.renew(lease, LIMITS);
    await other.read(ELECTION);
    await transferring();

    expect(await other.read(ELECTION)).toMatchObject({ state: "ending", holder: "a" });
  });

  test("blocks all other candidates until its time has passed, and nobody after that", async () => {
    const { outcome } = await transferring();
    await holder.release(lease, LIMITS);

    expect(await other.read(ELECTION)).toMatchObject({ state: "vacant", bar: { kind: "transfer", candidateId: "b" } });
    await clock.advance(4_999);
    expect((await other.acquire(acquiring({ candidateId: "c" }))).acquired).toBe(false);
    await clock.advance(1);
    expect((await other.acquire(acquiring({ candidateId: "c" }))).acquired).toBe(true);
    expect(await clock.runUntil(outcome)).toBe("lost");
  });

  test("of a free lease reserves it from now on", async () => {
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

  test("of an election that never was is lost", async () => {
    expect(await admin.transfer("unheard-of", "b")).toBe("lost");
    expect(service.record("unheard-of")).toBeUndefined();
  });

  test("is lost when the term is broken meanwhile", async () => {
    const { outcome } = await transferring();
    await admin.break(ELECTION, { reason: "maintenance" });

    expect(await clock.runUntil(outcome)).toBe("lost");
  });

  test("ends with the next term", async () => {
    const { outcome } = await transferring();
    await holder.release(lease, LIMITS);
    await named.read(ELECTION);
    await win(named, { candidateId: "b" });

    expect(await clock.runUntil(outcome)).toBe("accepted");
    expect(service.record(ELECTION)).not.toHaveProperty("transfer");
  });

  test("stops waiting when its signal aborts, with the signal's reason; the order stays in force", async () => {
    const controller = new AbortController();
    const outcome = admin.transfer(ELECTION, "b", { signal: controller.signal });
    await clock.settle();

    controller.abort("never mind");

    await expect(outcome).rejects.toBe("never mind");
    expect(await holder.renew(lease, LIMITS)).toMatchObject({ transferTo: "b" });
    expect(clock.pendingTimers).toBe(0);
  });

  // An unreadable record would never be changed again, because it counts as foreign data.
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
});
