import { ConfigurationError, StoreError } from "@leasehold/core";
import { RecordLeaseStore, type Lease } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { acquiring, ELECTION, win } from "@leasehold/test-kit/acquisitions";
import { RecordService, type FaultyRecordStore } from "./faulty-record-store.ts";

/** A limit that requests of some hundred milliseconds use up. */
const BRIEF = { timeoutMs: 1_000 };

let clock: VirtualClock;
let service: RecordService;
let records: FaultyRecordStore;
let store: RecordLeaseStore;
let admin: RecordLeaseStore;
let lease: Lease;

beforeEach(async () => {
  clock = new VirtualClock();
  service = new RecordService(clock);
  records = service.connect("a");
  store = new RecordLeaseStore(records, { clock });
  admin = new RecordLeaseStore(service.connect("admin"), { clock });
  lease = await win(store);
});

/** Renews, and gives the error where that fails. */
async function tryRenew(): Promise<unknown> {
  return await clock.runUntil(store.renew(lease, BRIEF)).catch((error: unknown) => error);
}

/** From now on a condition that fails tells what was found, as DynamoDB's does. */
function showWhatIsFound(): void {
  const put = records.put.bind(records);
  records.put = async (election, record, options) => {
    const outcome = await put(election, record, options);
    return outcome.stored ? outcome : { stored: false, current: service.get(election) };
  };
}

describe("renew", () => {
  test("is exactly one put, with a new nonce and nothing else changed", async () => {
    const before = service.record(ELECTION)!;
    const sent = service.log.length;

    const outcome = await store.renew(lease, BRIEF);

    const { nonce, ...rest } = service.record(ELECTION)!;
    expect(outcome.held).toBe(true);
    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["put"]);
    expect(nonce).not.toBe(before.nonce);
    expect({ ...rest, nonce: before.nonce }).toEqual(before);
  });

  test("counts from before it was sent, not from the reply", async () => {
    records.latencyMs = 900;
    await clock.advance(5_000);
    const sentAt = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };

    const outcome = await clock.runUntil(store.renew(lease, BRIEF));

    expect(outcome).toMatchObject({ held: true, extendedAt: sentAt });
  });

  test("of a lease that another store gave out is refused", async () => {
    await expect(admin.renew(lease, BRIEF)).rejects.toBeInstanceOf(ConfigurationError);
    await expect(store.renew({ ...lease }, BRIEF)).rejects.toThrow("was not given out by this faulty store");
  });
});

describe("a renewal whose outcome is unknown", () => {
  test("that arrived makes the next one's condition fail, is found by reading, and counts from its own send", async () => {
    records.failNext("put", { kind: "unanswered" });
    const sentMs = clock.monotonicMs();
    expect(await tryRenew()).toMatchObject({ code: "STORE_TIMEOUT" });
    const sent = service.log.length;

    const outcome = await tryRenew();

    expect(outcome).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });
    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["put", "get"]);
  });

  test("that arrived is not even read where the failed condition shows what it found", async () => {
    showWhatIsFound();
    records.failNext("put", { kind: "unanswered" });
    const sentMs = clock.monotonicMs();
    await tryRenew();
    const sent = service.log.length;

    const outcome = await tryRenew();

    expect(outcome).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });
    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["put"]);
    expect((await store.renew(lease, BRIEF)).held).toBe(true);
  });

  test("that was lost is made good by the next one with a single request, which counts from its own send", async () => {
    records.failNext("put", { kind: "lost" });
    await tryRenew();
    const sentMs = clock.monotonicMs();
    const sent = service.log.length;

    const outcome = await tryRenew();

    expect(outcome).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });
    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["put"]);
  });

  test("that arrives after the next one has is refused, and undoes nothing", async () => {
    records.failNext("put", { kind: "late", byMs: 1_300 });
    await tryRenew();
    const sentMs = clock.monotonicMs();
    const outcome = await store.publish(lease, "http://new", BRIEF);
    const record = service.record(ELECTION);

    await clock.advance(1_000);

    expect(outcome).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });
    expect(service.record(ELECTION)).toEqual(record);
    expect(await tryRenew()).toMatchObject({ held: true });
  });

  test("that arrives while the next one is under way makes it fail, and is counted from its own, earlier send", async () => {
    records.failNext("put", { kind: "late", byMs: 1_300 });
    const firstSentMs = clock.monotonicMs();
    await tryRenew();
    // The late write lands first.
    records.failNext("put", { kind: "slow", latencyMs: 900 });

    const outcome = await tryRenew();

    expect(outcome).toMatchObject({ held: true, extendedAt: { monotonicMs: firstSentMs } });
    expect((await store.renew(lease, BRIEF)).held).toBe(true);
  });

  test("among several is told by its nonce: the one found counts, from its own send", async () => {
    records.failNext("put", { kind: "lost" }, { kind: "unanswered" });
    await tryRenew();
    await clock.advance(300);
    const secondSentMs = clock.monotonicMs();
    await tryRenew();
    await clock.advance(300);

    const outcome = await tryRenew();

    expect(outcome).toMatchObject({ held: true, extendedAt: { monotonicMs: secondSentMs } });
  });

  test("is told by its nonce, whatever of them arrives last, and each of the others is refused", async () => {
    records.failNext("put", { kind: "late", byMs: 2_500 }, { kind: "late", byMs: 200 }, { kind: "lost" });
    await tryRenew();
    const secondSentMs = clock.monotonicMs();
    await tryRenew();
    await tryRenew();

    const outcome = await tryRenew();

    expect(outcome).toMatchObject({ held: true, extendedAt: { monotonicMs: secondSentMs } });
  });

  test("and the next one's as well: the write that failed for certain is not sent again, only the read", async () => {
    records.failNext("put", { kind: "unanswered" });
    records.failNext("get", { kind: "lost" });
    const sentMs = clock.monotonicMs();
    await tryRenew();
    expect(await tryRenew()).toMatchObject({ code: "STORE_TIMEOUT", operation: "get" });
    const sent = service.log.length;

    expect(await tryRenew()).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });
    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["get"]);
  });

  test("that arrived before the lease was taken is a loss, and was never more than a renewal", async () => {
    records.failNext("put", { kind: "unanswered" });
    await tryRenew();
    await admin.read(ELECTION);
    await clock.advance(15_000);
    await win(admin, { candidateId: "b" });

    expect(await tryRenew()).toMatchObject({ held: false, reason: "taken", explanation: "'b' holds term 2" });
    expect(service.record(ELECTION)).toMatchObject({ term: 2, candidateId: "b" });
  });

  test.each([false, true])("that was followed by a break: the next one is refused (shown: %s)", async (shown) => {
    if (shown) showWhatIsFound();
    records.failNext("put", { kind: "lost" });
    await tryRenew();
    await admin.break(ELECTION, { reason: "maintenance" });
    const { nonce } = service.record(ELECTION)!;

    expect(await tryRenew()).toMatchObject({ held: false, reason: "broken", barredUntilExpiry: true });
    expect(service.record(ELECTION)!.nonce).toBe(nonce);
  });

  test("of a publication: what was published is not written twice", async () => {
    records.failNext("put", { kind: "unanswered" });
    const sentMs = clock.monotonicMs();
    await clock.runUntil(store.publish(lease, "http://new", BRIEF)).catch(() => undefined);
    const sent = service.log.length;

    const outcome = await store.publish(lease, "http://new", BRIEF);

    expect(outcome).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });
    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["put", "get"]);
    expect(service.record(ELECTION)).toMatchObject({ value: "http://new" });
  });

  test("is not resolved by guessing while reading fails", async () => {
    records.failNext("put", { kind: "unanswered" });
    records.failNext("get", { kind: "unavailable" });
    await tryRenew();

    expect(await tryRenew()).toMatchObject({ code: "STORE_UNAVAILABLE", operation: "get" });
  });

  test("a connection that breaks off tells as little as silence", async () => {
    records.failNext("put", { kind: "reset", applied: true });
    const sentMs = clock.monotonicMs();
    expect(await tryRenew()).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
    await clock.advance(500);

    expect(await tryRenew()).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });
  });

  test("a failure that changed nothing for certain needs no read", async () => {
    records.failNext("put", { kind: "throttled", retryAfterMs: 10 });
    expect(await tryRenew()).toMatchObject({ code: "STORE_THROTTLED" });
    const sent = service.log.length;

    await tryRenew();

    expect(service.log.slice(sent).map(({ operation }) => operation)).toEqual(["put"]);
  });
});

describe("the time limit of a call", () => {
  test.each(["renew", "publish"] as const)("is shared by the requests of a %s", async (call) => {
    records.failNext("put", { kind: "unanswered" });
    await tryRenew();
    records.latencyMs = 700;
    const startMs = clock.monotonicMs();

    const calling = call === "renew" ? store.renew(lease, BRIEF) : store.publish(lease, "http://new", BRIEF);
    await expect(clock.runUntil(calling)).rejects.toMatchObject({ code: "STORE_TIMEOUT", operation: "get" });

    expect(clock.monotonicMs() - startMs).toBeLessThanOrEqual(BRIEF.timeoutMs);
  });

  test("is that of a whole release, too", async () => {
    records.failNext("put", { kind: "unanswered" });
    await tryRenew();
    records.latencyMs = 400;
    const startMs = clock.monotonicMs();

    // A write that fails, a read, and a write for which too little is left.
    await expect(clock.runUntil(store.release(lease, BRIEF))).rejects.toMatchObject({ code: "STORE_TIMEOUT", operation: "put" });

    expect(clock.monotonicMs() - startMs).toBeLessThanOrEqual(BRIEF.timeoutMs);
  });

  test("that is used up sends nothing more", async () => {
    const sent = service.log.length;

    await expect(store.renew(lease, { timeoutMs: 0 })).rejects.toMatchObject({
      code: "STORE_TIMEOUT",
      mayHaveBeenApplied: false,
    });
    expect(service.log).toHaveLength(sent);
  });
});

describe("a lease that is gone is told from a store that fails", () => {
  test("taken by another candidate", async () => {
    await admin.read(ELECTION);
    await clock.advance(15_000);
    await win(admin, { candidateId: "b" });

    expect(await tryRenew()).toMatchObject({
      held: false,
      reason: "taken",
      barredUntilExpiry: false,
      explanation: "'b' holds term 2",
    });
  });

  test("taken by another process with the very same candidateId: the label proves nothing", async () => {
    await admin.break(ELECTION, { reason: "test", immediate: true });
    await win(admin);

    expect(await tryRenew()).toMatchObject({ held: false, reason: "taken" });
  });

  test("vacated", async () => {
    await admin.break(ELECTION, { reason: "test", immediate: true });

    expect(await tryRenew()).toMatchObject({ held: false, reason: "taken", explanation: "it was vacated" });
  });

  test("missing", async () => {
    service.remove(ELECTION);

    expect(await tryRenew()).toMatchObject({ held: false, reason: "missing", barredUntilExpiry: false });
    expect(service.record(ELECTION)).toBeUndefined();
  });

  test("broken", async () => {
    await admin.break(ELECTION, { reason: "maintenance" });

    expect(await tryRenew()).toMatchObject({ held: false, reason: "broken", barredUntilExpiry: true });
    expect(await tryRenew()).toMatchObject({ held: false, reason: "broken" });
  });

  test("others who keep writing are a conflict, after a few tries", async () => {
    let writes = 0;
    records.put = () => {
      writes += 1;
      return Promise.resolve({ stored: false });
    };

    const error: unknown = await store.renew(lease, BRIEF).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: false });
    expect(writes).toBe(4);
  });
});

describe("publish", () => {
  test("changes what others read, and neither term nor termId", async () => {
    const outcome = await store.publish(lease, "http://new", BRIEF);

    expect(outcome.held).toBe(true);
    expect(await admin.read(ELECTION)).toMatchObject({ term: 1, value: "http://new" });
    expect(service.record(ELECTION)).toMatchObject({ termId: lease.termId });
  });

  test("stays through renewals", async () => {
    await store.publish(lease, "http://new", BRIEF);
    await store.renew(lease, BRIEF);

    expect(await admin.read(ELECTION)).toMatchObject({ value: "http://new" });
  });

  test("of what does not fit is refused without a request", async () => {
    const sent = service.log.length;

    await expect(store.publish(lease, "x".repeat(1_025), BRIEF)).rejects.toThrow(
      "value has 1025 bytes of UTF-8; at most 1024 fit.",
    );
    await expect(store.publish(lease, "\udfff", BRIEF)).rejects.toBeInstanceOf(ConfigurationError);
    expect(service.log).toHaveLength(sent);
  });

  test("whose reply was lost is written again when asked again, and counts as a renewal when found", async () => {
    records.failNext("put", { kind: "unanswered" });
    const sentMs = clock.monotonicMs();
    await clock.runUntil(store.publish(lease, "http://new", BRIEF)).catch(() => undefined);

    expect(await store.renew(lease, BRIEF)).toMatchObject({ held: true, extendedAt: { monotonicMs: sentMs } });
    expect(await store.publish(lease, "http://new", BRIEF)).toMatchObject({ held: true });
  });
});

describe("a broken term is never extended", () => {
  test("by publishing after the holder has heard of it", async () => {
    await admin.break(ELECTION, { reason: "maintenance" });
    await tryRenew();
    const { nonce } = service.record(ELECTION)!;

    const outcome = await store.publish(lease, "still here", BRIEF);

    expect(outcome).toMatchObject({ held: false, reason: "broken" });
    expect(service.record(ELECTION)!.nonce).toBe(nonce);
  });

  test("by renewing a win whose reply was lost and which was broken before it was found", async () => {
    await store.release(lease, BRIEF);
    records.failNext("put", { kind: "unanswered" });
    const acquiringAgain = store.acquire(acquiring());
    await clock.settle();
    await admin.break(ELECTION, { reason: "maintenance" });
    const outcome = await clock.runUntil(acquiringAgain);
    const { nonce } = service.record(ELECTION)!;

    const renewal = outcome.acquired ? await store.renew(outcome.lease, BRIEF) : undefined;

    expect(renewal?.held ?? false).toBe(false);
    expect(service.record(ELECTION)).toMatchObject({ nonce, broken: { reason: "maintenance" } });
  });
});
