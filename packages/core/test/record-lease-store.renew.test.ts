import { ConfigurationError, StoreError } from "@leasehold/core";
import { RecordLeaseStore, sleep } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import { acquiring, ELECTION, win } from "@leasehold/test-kit/acquisitions";
import type { Fault } from "./faulty-record-store.ts";
import { test, type HeldLease } from "./held-lease.ts";

/** A time limit that a few requests of some hundred milliseconds use up. */
const BRIEF = { timeoutMs: 1_000 };

/** Renews. Returns the error if that fails. */
async function tryRenew({ clock, holder, lease }: HeldLease): Promise<unknown> {
  return await clock.runUntil(holder.renew(lease, BRIEF)).catch((error: unknown) => error);
}

/** From now on a failed condition returns the record that was found, as on DynamoDB. */
function showWhatIsFound({ service, holderRecords }: HeldLease): void {
  const put = holderRecords.put.bind(holderRecords);
  holderRecords.put = async (election, record, options) => {
    const outcome = await put(election, record, options);
    return outcome.stored ? outcome : { stored: false, current: service.get(election) };
  };
}

describe("renew", () => {
  test("is exactly one put, with a new nonce and nothing else changed", async ({ held: { service, holder, lease } }) => {
    const before = service.record(ELECTION)!;
    const sent = service.log.length;

    const outcome = await holder.renew(lease, BRIEF);

    const { nonce, ...rest } = service.record(ELECTION)!;
    expect(outcome.held).toBe(true);
    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["put"]);
    expect(nonce).not.toBe(before.nonce);
    expect({ ...rest, nonce: before.nonce }).toEqual(before);
  });

  test("counts from before it was sent, not from the reply", async ({ held: { clock, holder, holderRecords, lease } }) => {
    holderRecords.latencyMs = 900;
    await clock.advance(5_000);
    const sentAt = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };

    const outcome = await clock.runUntil(holder.renew(lease, BRIEF));

    expect(outcome).toMatchObject({ held: true, extendedAt: sentAt });
  });

  test("of a lease that another store gave out is refused", async ({ held: { holder, admin, lease } }) => {
    await expect(admin.renew(lease, BRIEF)).rejects.toBeInstanceOf(ConfigurationError);
    await expect(holder.renew({ ...lease }, BRIEF)).rejects.toThrow("was not given out by this faulty store");
  });
});

describe("a renewal that meets an administrator's write", () => {
  test("is not lost by a read that was sent before the acquisition and returned after it", async ({ held }) => {
    const { clock, service, holder, admin, lease } = held;
    await holder.release(lease, BRIEF);
    const records = service.connect("b", { storeClock: { toleranceMs: 0, exact: true } });
    const get = records.get.bind(records);
    const next = new RecordLeaseStore(records, { clock });
    await next.read(ELECTION);
    records.failNext("put", { kind: "slow", latencyMs: 800 });
    const acquisition = next.acquire(acquiring({ candidateId: "b" }));
    await clock.advance(100);
    records.get = async (election) => {
      const found = await get(election);
      await sleep(clock, 900);
      return found;
    };
    const reading = next.read(ELECTION);
    const outcome = await clock.runUntil(acquisition);
    await clock.runUntil(reading);
    records.get = get;
    if (!outcome.acquired) throw new Error("not acquired");
    void admin.transfer(ELECTION, "c").catch(() => undefined);
    await clock.advance(10);

    await expect(next.renew(outcome.lease, BRIEF)).resolves.toMatchObject({ held: true, transferTo: "c" });
  });

  test("is not lost by a read that was sent after the acquisition and returned before it", async ({ held }) => {
    const { clock, service, holder, admin, lease } = held;
    await holder.release(lease, BRIEF);
    const records = service.connect("b");
    const put = records.put.bind(records);
    const next = new RecordLeaseStore(records, { clock });
    await next.read(ELECTION);
    // The acquisition arrives late.
    records.put = async (...args) => {
      await sleep(clock, 500);
      return await put(...args);
    };
    const acquisition = next.acquire(acquiring({ candidateId: "b" }));
    await clock.advance(100);
    await next.read(ELECTION);
    const outcome = await clock.runUntil(acquisition);
    records.put = put;
    if (!outcome.acquired) throw new Error("not acquired");
    void admin.transfer(ELECTION, "c").catch(() => undefined);
    await clock.advance(10);

    await expect(next.renew(outcome.lease, BRIEF)).resolves.toMatchObject({ held: true, transferTo: "c" });
  });
});

interface Renewals {
  readonly puts: readonly Fault[];
  readonly gets?: readonly Fault[];
  /** True if a failed condition returns the record that was found. */
  readonly isShown?: boolean;
  readonly tries?: number;
  /** The renewal from whose send the lease counts in the end. */
  readonly counts: number;
  /** The requests of the last renewal. */
  readonly asks: readonly string[];
}

const READS = ["put", "get"];
const UNANSWERED = { kind: "unanswered" } as const;
const LOST = { kind: "lost" } as const;

describe("a renewal whose outcome is unknown", () => {
  test.for<readonly [string, Renewals]>([
    ["that arrived is found by reading, and counts from its own send", { puts: [UNANSWERED], counts: 0, asks: READS }],
    ["that is shown by the failed condition needs no read", { puts: [UNANSWERED], isShown: true, counts: 0, asks: ["put"] }],
    ["that was lost is replaced by the next one, which counts from its own send", { puts: [LOST], counts: 1, asks: ["put"] }],
    [
      "that certainly changed nothing needs no read",
      { puts: [{ kind: "throttled", retryAfterMs: 9 }], counts: 1, asks: ["put"] },
    ],
    ["whose connection broke is found, too", { puts: [{ kind: "reset", applied: true }], counts: 0, asks: READS }],
    [
      "that arrives while the next one is under way makes that fail, and counts",
      {
        puts: [
          { kind: "late", byMs: 1_300 },
          { kind: "slow", latencyMs: 900 },
        ],
        counts: 0,
        asks: READS,
      },
    ],
    ["is identified by its nonce among several", { puts: [LOST, UNANSWERED], tries: 3, counts: 1, asks: READS }],
    [
      "is identified by its nonce even if it arrives late, and all others are refused",
      { puts: [{ kind: "late", byMs: 2_500 }, { kind: "late", byMs: 200 }, LOST], tries: 4, counts: 1, asks: READS },
    ],
    [
      "is found by a single read after the next one failed for certain, and its read was lost",
      { puts: [UNANSWERED], gets: [LOST], tries: 3, counts: 0, asks: ["get"] },
    ],
  ])("%s", async ([, { puts, gets = [], isShown, tries = 2, counts, asks }], { held }) => {
    const { clock, service, holderRecords } = held;
    if (isShown) showWhatIsFound(held);
    holderRecords.failNext("put", ...puts);
    holderRecords.failNext("get", ...gets);
    const sentMs: number[] = [];
    let outcome: unknown;
    let sent = 0;
    for (let renewals = 0; renewals < tries; renewals += 1) {
      await clock.advance(10);
      sentMs.push(clock.monotonicMs());
      sent = service.log.length;
      outcome = await tryRenew(held);
    }

    expect(outcome).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs[counts] } });
    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(asks);
    expect(await tryRenew(held)).toMatchObject({ held: true });
  });

  test("that arrives after the next one is refused, and undoes nothing", async ({ held }) => {
    const { clock, service, holder, holderRecords, lease } = held;
    holderRecords.failNext("put", { kind: "late", byMs: 1_300 });
    await tryRenew(held);
    const sentMs = clock.monotonicMs();
    const outcome = await holder.publish(lease, "http://new", BRIEF);
    const record = service.record(ELECTION);

    await clock.advance(1_000);

    expect(outcome).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });
    expect(service.record(ELECTION)).toEqual(record);
    expect(await tryRenew(held)).toMatchObject({ held: true });
  });

  test("that arrived before another candidate acquired does not hide the loss", async ({ held }) => {
    const { clock, service, holderRecords, admin } = held;
    holderRecords.failNext("put", { kind: "unanswered" });
    await tryRenew(held);
    await admin.read(ELECTION);
    await clock.advance(15_000);
    await win(admin, { candidateId: "b" });

    expect(await tryRenew(held)).toMatchObject({ held: false, reason: "taken", explanation: "'b' holds term 2" });
    expect(service.record(ELECTION)).toMatchObject({ term: 2, candidateId: "b" });
  });

  test.for([false, true])("that was followed by a break: the next one is refused (shown: %s)", async (shown, { held }) => {
    const { service, holderRecords, admin } = held;
    if (shown) showWhatIsFound(held);
    holderRecords.failNext("put", { kind: "lost" });
    await tryRenew(held);
    await admin.break(ELECTION, { reason: "maintenance" });
    const { nonce } = service.record(ELECTION)!;

    expect(await tryRenew(held)).toMatchObject({ held: false, reason: "broken", barredUntilExpiry: true });
    expect(service.record(ELECTION)!.nonce).toBe(nonce);
  });

  test("of a publication does not cause a second write of the value", async ({
    held: { clock, service, holder, holderRecords, lease },
  }) => {
    holderRecords.failNext("put", { kind: "unanswered" });
    const sentMs = clock.monotonicMs();
    await clock.runUntil(holder.publish(lease, "http://new", BRIEF)).catch(() => undefined);
    const sent = service.log.length;

    const outcome = await holder.publish(lease, "http://new", BRIEF);

    expect(outcome).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });
    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["put", "get"]);
    expect(service.record(ELECTION)).toMatchObject({ value: "http://new" });
  });

  test("is not resolved by guessing while reading fails", async ({ held }) => {
    const { holderRecords } = held;
    holderRecords.failNext("put", { kind: "unanswered" });
    holderRecords.failNext("get", { kind: "unavailable" });
    await tryRenew(held);

    expect(await tryRenew(held)).toMatchObject({ code: "STORE_UNAVAILABLE", operation: "get" });
  });
});

describe("the time limit of a call", () => {
  test.for(["renew", "publish"] as const)("is shared by the requests of a %s", async (call, { held }) => {
    const { clock, holder, holderRecords, lease } = held;
    holderRecords.failNext("put", { kind: "unanswered" });
    await tryRenew(held);
    holderRecords.latencyMs = 700;
    const startMs = clock.monotonicMs();

    const calling = call === "renew" ? holder.renew(lease, BRIEF) : holder.publish(lease, "http://new", BRIEF);
    await expect(clock.runUntil(calling)).rejects.toMatchObject({ code: "STORE_TIMEOUT", operation: "get" });

    expect(clock.monotonicMs() - startMs).toBeLessThanOrEqual(BRIEF.timeoutMs);
  });

  test("covers a whole release, too", async ({ held }) => {
    const { clock, holder, holderRecords, lease } = held;
    holderRecords.failNext("put", { kind: "unanswered" });
    await tryRenew(held);
    holderRecords.latencyMs = 400;
    const startMs = clock.monotonicMs();

    // A write whose condition fails, a read, and a write that has too little time left.
    await expect(clock.runUntil(holder.release(lease, BRIEF))).rejects.toMatchObject({ code: "STORE_TIMEOUT", operation: "put" });

    expect(clock.monotonicMs() - startMs).toBeLessThanOrEqual(BRIEF.timeoutMs);
  });

  test("prevents further requests once it is used up", async ({ held: { service, holder, lease } }) => {
    const sent = service.log.length;

    await expect(holder.renew(lease, { timeoutMs: 0 })).rejects.toMatchObject({
      code: "STORE_TIMEOUT",
      mayHaveBeenApplied: false,
    });
    expect(service.log).toHaveLength(sent);
  });
});

describe("a lease that is gone is distinguished from a store that fails", () => {
  test("taken by another candidate", async ({ held }) => {
    const { clock, admin } = held;
    await admin.read(ELECTION);
    await clock.advance(15_000);
    await win(admin, { candidateId: "b" });

    expect(await tryRenew(held)).toMatchObject({
      held: false,
      reason: "taken",
      barredUntilExpiry: false,
      explanation: "'b' holds term 2",
    });
  });

  test("vacated", async ({ held }) => {
    const { admin } = held;
    await admin.break(ELECTION, { reason: "test", immediate: true });

    expect(await tryRenew(held)).toMatchObject({
      held: false,
      reason: "broken",
      explanation: 'an administrator broke it at once ("test")',
    });
  });

  test("missing", async ({ held }) => {
    const { service } = held;
    service.remove(ELECTION);

    expect(await tryRenew(held)).toMatchObject({ held: false, reason: "missing", barredUntilExpiry: false });
    expect(service.record(ELECTION)).toBeUndefined();
  });

  test("broken", async ({ held }) => {
    const { admin } = held;
    await admin.break(ELECTION, { reason: "maintenance" });

    expect(await tryRenew(held)).toMatchObject({ held: false, reason: "broken", barredUntilExpiry: true });
    expect(await tryRenew(held)).toMatchObject({ held: false, reason: "broken" });
  });

  test("a conflict after a few tries, if others keep writing", async ({ held: { holder, holderRecords, lease } }) => {
    let writes = 0;
    holderRecords.put = () => {
      writes += 1;
      return Promise.resolve({ stored: false });
    };

    const error: unknown = await holder.renew(lease, BRIEF).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: false });
    expect(writes).toBe(4);
  });
});

describe("publish", () => {
  test("refuses a value that does not fit, without a request", async ({ held: { service, holder, lease } }) => {
    const sent = service.log.length;

    await expect(holder.publish(lease, "x".repeat(1_025), BRIEF)).rejects.toThrow(
      "value has 1025 bytes of UTF-8; at most 1024 fit.",
    );
    await expect(holder.publish(lease, "\udfff", BRIEF)).rejects.toBeInstanceOf(ConfigurationError);
    expect(service.log).toHaveLength(sent);
  });

  test("writes the value again if the reply was lost, and counts as a renewal when found", async ({
    held: { clock, holder, holderRecords, lease },
  }) => {
    holderRecords.failNext("put", { kind: "unanswered" });
    const sentMs = clock.monotonicMs();
    await clock.runUntil(holder.publish(lease, "http://new", BRIEF)).catch(() => undefined);

    expect(await holder.renew(lease, BRIEF)).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });
    expect(await holder.publish(lease, "http://new", BRIEF)).toMatchObject({ held: true });
  });
});

describe("a broken term is never extended", () => {
  test("by publishing after the holder has learned of the break", async ({ held }) => {
    const { service, holder, admin, lease } = held;
    await admin.break(ELECTION, { reason: "maintenance" });
    await tryRenew(held);
    const { nonce } = service.record(ELECTION)!;

    const outcome = await holder.publish(lease, "still here", BRIEF);

    expect(outcome).toMatchObject({ held: false, reason: "broken" });
    expect(service.record(ELECTION)!.nonce).toBe(nonce);
  });

  test("by renewing a win whose reply was lost and which was broken before it was found", async ({
    held: { clock, service, holder, holderRecords, admin, lease },
  }) => {
    await holder.release(lease, BRIEF);
    holderRecords.failNext("put", { kind: "unanswered" });
    const acquiringAgain = holder.acquire(acquiring());
    await clock.settle();
    await admin.break(ELECTION, { reason: "maintenance" });
    const outcome = await clock.runUntil(acquiringAgain);
    const { nonce } = service.record(ELECTION)!;

    const renewal = outcome.acquired ? await holder.renew(outcome.lease, BRIEF) : undefined;

    expect(renewal?.held ?? false).toBe(false);
    expect(service.record(ELECTION)).toMatchObject({ nonce, broken: { reason: "maintenance" } });
  });
});
