import { describe, expect, vi } from "vitest";
import { ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { test } from "./held-lease.ts";

describe("release", () => {
  test("is one put that keeps the term and removes holder and value", async ({ held: { service, holder, rival, lease } }) => {
    const sent = service.log.length;

    expect(await holder.release(lease, LIMITS)).toBe("released");

    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["put"]);
    expect(service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
    const snapshot = await rival.read(ELECTION);
    expect(snapshot).toMatchObject({ state: "vacant", term: 1 });
    expect(snapshot).not.toHaveProperty("holder");
    expect(snapshot).not.toHaveProperty("value");
  });
});

describe("release frees only its own term", () => {
  test("does not create a record that is gone", async ({ held: { service, holder, lease } }) => {
    service.remove(ELECTION);

    expect(await holder.release(lease, LIMITS)).toBe("not-held");
    expect(service.record(ELECTION)).toBeUndefined();
  });

  test("a renewal that arrives after the release does not bring the lease back", async ({
    held: { clock, service, holder, holderRecords, lease },
  }) => {
    holderRecords.failNext("put", { kind: "late", byMs: 5_000 });
    await clock.runUntil(holder.renew(lease, LIMITS)).catch(() => undefined);

    expect(await holder.release(lease, LIMITS)).toBe("released");
    await clock.advance(10_000);

    expect(service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
  });

  test("needs no further request after a lost renewal", async ({ held: { clock, service, holder, holderRecords, lease } }) => {
    holderRecords.failNext("put", { kind: "lost" });
    await clock.runUntil(holder.renew(lease, LIMITS)).catch(() => undefined);
    const sent = service.log.length;

    expect(await holder.release(lease, LIMITS)).toBe("released");
    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["put"]);
  });

  test("a lease whose renewal got no reply is found, and released", async ({
    held: { clock, service, holder, holderRecords, lease },
  }) => {
    holderRecords.failNext("put", { kind: "unanswered" });
    await clock.runUntil(holder.renew(lease, LIMITS)).catch(() => undefined);
    const sent = service.log.length;

    expect(await holder.release(lease, LIMITS)).toBe("released");
    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["put", "get", "put"]);
    expect(service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
  });

  test("that is late itself does not undo the one that was sent after it, nor touch the successor", async ({
    held: { clock, service, holder, holderRecords, rival, lease },
  }) => {
    holderRecords.failNext("put", { kind: "late", byMs: 5_000 });
    await clock.runUntil(holder.release(lease, LIMITS)).catch(() => undefined);
    expect(await holder.release(lease, LIMITS)).toBe("released");
    const successor = await win(rival, { candidateId: "b" });

    await clock.advance(10_000);

    expect(service.record(ELECTION)).toMatchObject({ term: 2, termId: successor.termId });
    expect((await rival.renew(successor, LIMITS)).held).toBe(true);
  });

  test("whose reply was lost returns not-held after another candidate has acquired", async ({
    held: { clock, service, holder, holderRecords, rival, lease },
  }) => {
    holderRecords.failNext("put", { kind: "unanswered" });
    await clock.runUntil(holder.release(lease, LIMITS)).catch(() => undefined);
    const successor = await win(rival, { candidateId: "b" });

    expect(await holder.release(lease, LIMITS)).toBe("not-held");
    expect(service.record(ELECTION)).toMatchObject({ term: 2, termId: successor.termId });
  });

  test("a renewal that arrives right before the release does not prevent it", async ({
    held: { clock, service, holder, holderRecords, lease },
  }) => {
    holderRecords.failNext("put", { kind: "late", byMs: 1_200 }, { kind: "slow", latencyMs: 800 });
    await clock.runUntil(holder.renew(lease, LIMITS)).catch(() => undefined);

    expect(await clock.runUntil(holder.release(lease, LIMITS))).toBe("released");
    expect(service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
  });

  test("that was carried out without a reply is found by reading", async ({
    held: { clock, service, holder, holderRecords, lease },
  }) => {
    holderRecords.failNext("put", { kind: "unanswered" });

    await expect(clock.runUntil(holder.release(lease, LIMITS))).rejects.toMatchObject({ code: "STORE_TIMEOUT" });

    expect(await holder.release(lease, LIMITS)).toBe("released");
    expect(service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
  });

  test("is tried again if an administrator writes in between, and that reservation survives the release", async ({
    held: { clock, holder, holderRecords, rival, lease },
  }) => {
    holderRecords.failNext("put", { kind: "slow", latencyMs: 800 });
    const releasing = holder.release(lease, LIMITS);
    void rival.transfer(ELECTION, "b", { transferTimeoutMs: 60_000 });
    await clock.settle();

    expect(await clock.runUntil(releasing)).toBe("released");
    expect(await rival.read(ELECTION)).toMatchObject({ state: "vacant", bar: { kind: "transfer", candidateId: "b" } });
  });

  test("is a conflict after a few tries if others keep writing", async ({ held: { holder, holderRecords, lease } }) => {
    const put = vi.spyOn(holderRecords, "put").mockResolvedValue({ stored: false });

    await expect(holder.release(lease, LIMITS)).rejects.toMatchObject({ code: "STORE_CONFLICT", operation: "release" });
    expect(put).toHaveBeenCalledTimes(4);
  });

  test("is forgotten once a later term is observed, so a restored backup then counts as held", async ({
    held: { service, holder, rival, lease },
  }) => {
    const backup = service.record(ELECTION);
    await holder.release(lease, LIMITS);
    await win(rival, { candidateId: "b" });
    await holder.read(ELECTION);
    service.overwrite(ELECTION, backup);

    await expect(holder.read(ELECTION)).resolves.toMatchObject({ state: "held", term: 1, holder: "a" });
  });
});
