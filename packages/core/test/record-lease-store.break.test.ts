import { ConfigurationError } from "@leasehold/core";
import { describe, expect } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { test } from "./held-lease.ts";

describe("a break", () => {
  test("closes renewal at once", async ({ held: { holder, admin, lease } }) => {
    expect(await admin.break(ELECTION, { reason: "maintenance" })).toEqual({ broken: true, term: 1 });

    expect(await holder.renew(lease, LIMITS)).toMatchObject({
      held: false,
      reason: "broken",
      explanation: expect.stringContaining("maintenance") as string,
    });
  });

  test("lets nobody acquire until the rest of the lease has passed", async ({ held: { clock, holder, rival, admin } }) => {
    await rival.read(ELECTION);
    await clock.advance(6_000);
    await admin.break(ELECTION, { reason: "maintenance" });

    await clock.advance(LEASE_MS - 6_001);
    await rival.read(ELECTION);
    expect((await rival.acquire(acquiring({ candidateId: "b" }))).acquired).toBe(false);
    expect((await holder.acquire(acquiring())).acquired).toBe(false);

    await clock.advance(1);
    expect((await rival.acquire(acquiring({ candidateId: "b" }))).acquired).toBe(true);
  });

  test("leaves the term to the next acquisition", async ({ held: { clock, service, rival, admin, lease } }) => {
    await rival.read(ELECTION);
    await admin.break(ELECTION, { reason: "maintenance" });
    expect(service.record(ELECTION)).toMatchObject({ term: 1, termId: lease.termId });
    await clock.advance(LEASE_MS);
    await rival.read(ELECTION);

    expect((await win(rival, { candidateId: "b" })).term).toBe(2);
    expect(service.record(ELECTION)).not.toHaveProperty("broken");
  });

  test("is seen by readers, with its reason", async ({ held: { holder, rival, admin, lease } }) => {
    await rival.read(ELECTION);
    await holder.renew(lease, LIMITS);
    await rival.read(ELECTION);
    await admin.break(ELECTION, { reason: "maintenance" });

    expect(await rival.read(ELECTION)).toMatchObject({ state: "ending", holder: "a", endingReason: "maintenance" });
  });

  test("with immediate skips the wait: rivals may acquire, and the holder finds its lease gone", async ({
    held: { holder, rival, admin, lease },
  }) => {
    expect(await admin.break(ELECTION, { reason: "emergency", immediate: true })).toEqual({ broken: true, term: 1 });
    await rival.read(ELECTION);

    expect((await win(rival, { candidateId: "b" })).term).toBe(2);
    expect(await holder.renew(lease, LIMITS)).toMatchObject({ held: false, reason: "taken", barredUntilExpiry: false });
  });

  test("of a term that has passed spares the successor", async ({ held: { clock, rival, admin } }) => {
    await rival.read(ELECTION);
    await clock.advance(LEASE_MS);
    const successor = await win(rival, { candidateId: "b" });

    const outcome = await admin.break(ELECTION, { reason: "late", ifTerm: 1 });

    expect(outcome).toMatchObject({ broken: false, current: { term: 2, holder: "b" } });
    expect((await rival.renew(successor, LIMITS)).held).toBe(true);
  });

  test("without ifTerm breaks the term that it read, not one that slips in between", async ({
    held: { clock, holder, rival, admin, adminRecords, lease },
  }) => {
    adminRecords.failNext("put", { kind: "slow", latencyMs: 400 });
    const breaking = admin.break(ELECTION, { reason: "slow" });
    await clock.settle();
    await holder.release(lease, LIMITS);
    await rival.read(ELECTION);
    const successor = await win(rival, { candidateId: "b" });

    expect(await clock.runUntil(breaking)).toMatchObject({ broken: false, current: { term: 2 } });
    expect((await rival.renew(successor, LIMITS)).held).toBe(true);
  });

  test("is tried again when a renewal slips in between", async ({ held: { clock, holder, admin, adminRecords, lease } }) => {
    adminRecords.failNext("put", { kind: "slow", latencyMs: 400 });
    const breaking = admin.break(ELECTION, { reason: "maintenance" });
    await clock.settle();
    await holder.renew(lease, LIMITS);

    expect(await clock.runUntil(breaking)).toEqual({ broken: true, term: 1 });
    expect((await holder.renew(lease, LIMITS)).held).toBe(false);
  });

  test.for([{}, { immediate: true }])(
    "of a lease that nobody holds changes nothing (%j)",
    async (options, { held: { service, holder, admin, lease } }) => {
      await holder.release(lease, LIMITS);
      const before = service.record(ELECTION);

      expect(await admin.break(ELECTION, { reason: "idle", ...options })).toMatchObject({
        broken: false,
        current: { state: "vacant" },
      });
      expect(service.record(ELECTION)).toEqual(before);
    },
  );

  test("against others who keep writing is a conflict, after a few tries", async ({ held: { admin, adminRecords } }) => {
    adminRecords.put = () => Promise.resolve({ stored: false });

    await expect(admin.break(ELECTION, { reason: "maintenance" })).rejects.toMatchObject({
      code: "STORE_CONFLICT",
      operation: "break",
    });
    await expect(admin.transfer(ELECTION, "b")).rejects.toMatchObject({ code: "STORE_CONFLICT", operation: "transfer" });
  });

  test("of an election that never was says so, and makes no record", async ({ held: { service, admin } }) => {
    expect(await admin.break("unheard-of", { reason: "typo" })).toEqual({ broken: false, current: undefined });
    expect(service.record("unheard-of")).toBeUndefined();
  });

  test.for([0, 1.5, NaN])("with %d for ifTerm is refused before any request", async (ifTerm, { held: { service, admin } }) => {
    const sent = service.log.length;

    await expect(admin.break(ELECTION, { reason: "typo", ifTerm })).rejects.toBeInstanceOf(ConfigurationError);
    await expect(admin.transfer(ELECTION, "b", { ifTerm })).rejects.toBeInstanceOf(ConfigurationError);
    expect(service.log).toHaveLength(sent);
  });

  // A record that nobody can read would be left untouched for good: foreign data is not ours.
  test.for([undefined, 7, null, "\ud800", "x".repeat(501)])(
    "with %j for a reason is refused, and the record stays readable",
    async (reason, { held: { holder, admin, lease } }) => {
      await expect(admin.break(ELECTION, { reason: reason as unknown as string })).rejects.toBeInstanceOf(ConfigurationError);

      expect((await holder.renew(lease, LIMITS)).held).toBe(true);
    },
  );
});
