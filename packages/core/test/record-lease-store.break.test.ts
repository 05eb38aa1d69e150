import { ConfigurationError } from "@leasehold/core";
import { describe, expect } from "vitest";
import { ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { test } from "./held-lease.ts";

describe("a break", () => {
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

  test("is a conflict after a few tries if others keep writing", async ({ held: { admin, adminRecords } }) => {
    adminRecords.put = () => Promise.resolve({ stored: false });

    await expect(admin.break(ELECTION, { reason: "maintenance" })).rejects.toMatchObject({
      code: "STORE_CONFLICT",
      operation: "break",
    });
    await expect(admin.transfer(ELECTION, "b")).rejects.toMatchObject({ code: "STORE_CONFLICT", operation: "transfer" });
  });

  // An unreadable record would never be changed again, because it counts as foreign data.
  test.for([undefined, 7, null, "\ud800", "x".repeat(501)])(
    "with %j for a reason is refused, and the record stays readable",
    async (reason, { held: { holder, admin, lease } }) => {
      await expect(admin.break(ELECTION, { reason: reason as unknown as string })).rejects.toBeInstanceOf(ConfigurationError);

      expect((await holder.renew(lease, LIMITS)).held).toBe(true);
    },
  );
});
