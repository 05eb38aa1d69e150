import { ConfigurationError, LeaseholdError, StoreError } from "@leasehold/core";
import { type Clock, RecordLeaseStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { RecordService, type FaultyRecordStore } from "./faulty-record-store.ts";

let clock: VirtualClock;
let service: RecordService;
let recordsA: FaultyRecordStore;
let a: RecordLeaseStore;
let b: RecordLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  service = new RecordService(clock);
  recordsA = service.connect("a");
  a = new RecordLeaseStore(recordsA, { clock });
  b = new RecordLeaseStore(service.connect("b"), { clock });
});

describe("acquire", () => {
  test("creates the first record: term 1, with everything that rivals need", async () => {
    const lease = await win(a, { value: "http://a" });

    expect(lease).toMatchObject({ election: ELECTION, candidateId: "a", term: 1, leaseDurationMs: LEASE_MS });
    expect(service.record(ELECTION)).toEqual({
      schema: 3,
      term: 1,
      termId: lease.termId,
      candidateId: "a",
      value: "http://a",
      nonce: expect.any(String) as string,
      leaseDurationMs: LEASE_MS,
      renewIntervalMs: 5_000,
      history: expect.any(String) as string,
    });
  });

  test("on a record that is known to be vacant is exactly one put", async () => {
    await a.release(await win(a), LIMITS);
    await b.read(ELECTION);
    const before = service.log.length;

    await win(b, { candidateId: "b" });

    expect(service.log.slice(before).map(({ operation }) => operation)).toEqual(["put"]);
  });

  test("has one winner if two candidates try on the same version, and the loser reads before it tries again", async () => {
    await a.release(await win(a), LIMITS);
    await b.read(ELECTION);

    const outcomes = await Promise.all([a.acquire(acquiring()), b.acquire(acquiring({ candidateId: "b" }))]);
    expect(outcomes.map(({ acquired }) => acquired)).toEqual([true, false]);

    const again = await b.acquire(acquiring({ candidateId: "b" }));
    expect(again).toMatchObject({ acquired: false, current: { holder: "a", term: 2 } });
    expect(service.log.slice(-1)).toMatchObject([{ candidate: "b", operation: "get" }]);
  });

  test("counts the lease from before the request was sent", async () => {
    recordsA.latencyMs = 800;
    const sentMs = clock.monotonicMs() + 800;

    const lease = await clock.runUntil(win(a));

    // A read that finds nothing, then the put.
    expect(clock.monotonicMs()).toBe(sentMs + 800);
    expect(lease.grantedAt).toEqual({ monotonicMs: sentMs, wallMs: clock.wallMs() - 800 });
  });
});

describe("an acquisition whose outcome is unknown", () => {
  test("that arrived is found by reading, and counts from its own send", async () => {
    recordsA.failNext("put", { kind: "unanswered" });
    const sentMs = clock.monotonicMs();

    const lease = await clock.runUntil(win(a));

    expect(clock.monotonicMs()).toBe(sentMs + LIMITS.timeoutMs);
    expect(lease.grantedAt.monotonicMs).toBe(sentMs);
    expect((await a.renew(lease, LIMITS)).held).toBe(true);
  });

  test("that lost to another candidate is not acquired, without an error", async () => {
    await a.release(await win(a), LIMITS);
    recordsA.failNext("put", { kind: "lost" });
    const acquiringA = a.acquire(acquiring());
    await b.read(ELECTION);
    await win(b, { candidateId: "b" });

    const outcome = await clock.runUntil(acquiringA);

    expect(outcome).toMatchObject({ acquired: false, current: { holder: "b" } });
  });

  test("throws the error if the read fails, too; found later, it is vacant to the process that sent it", async () => {
    await a.release(await win(a), LIMITS);
    recordsA.failNext("put", { kind: "unanswered" });
    recordsA.failNext("get", { kind: "unavailable" });

    await expect(clock.runUntil(a.acquire(acquiring()))).rejects.toMatchObject({ code: "STORE_TIMEOUT", operation: "put" });

    expect(service.record(ELECTION)).toMatchObject({ term: 2, candidateId: "a" });
    expect(await a.read(ELECTION)).toMatchObject({ state: "vacant", term: 2 });
    expect((await win(a)).term).toBe(3);
  });

  test("that arrives after it was given up is vacant to the process that sent it, too", async () => {
    await a.release(await win(a), LIMITS);
    recordsA.failNext("put", { kind: "late", byMs: 3_000 });

    // No other candidate has the lease. The attempt failed, and throws.
    const attempt = clock.runUntil(a.acquire(acquiring({ timeoutMs: 1_000 })));
    await expect(attempt).rejects.toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: true });

    await clock.advance(3_000);
    expect(service.record(ELECTION)).toMatchObject({ term: 2, candidateId: "a" });
    expect(await a.read(ELECTION)).toMatchObject({ state: "vacant", term: 2 });
    expect((await win(a)).term).toBe(3);
  });

  test("blocks every other process until it has expired", async () => {
    await a.release(await win(a), LIMITS);
    recordsA.failNext("put", { kind: "unanswered" });
    recordsA.failNext("get", { kind: "unavailable" });
    await clock.runUntil(a.acquire(acquiring()).catch(() => undefined));

    expect((await b.acquire(acquiring({ candidateId: "b" }))).acquired).toBe(false);
    await clock.advance(LEASE_MS);
    expect((await b.acquire(acquiring({ candidateId: "b" }))).acquired).toBe(true);
  });

  test.each([true, false])(
    "that arrives twice is won, even if the second reply shows another version (shown: %s)",
    async (shown) => {
      await a.release(await win(a), LIMITS);
      const put = recordsA.put.bind(recordsA);
      recordsA.put = async (...request) => {
        await put(...request);
        const second = await put(...request);
        return shown ? { ...second, current: service.get(ELECTION) } : { stored: false };
      };

      const lease = await win(a);

      expect(service.record(ELECTION)).toMatchObject({ term: 2, termId: lease.termId });
    },
  );

  test.each([true, false])("that is refused shows no record that is not read again (known before: %s)", async (isKnown) => {
    if (isKnown) await a.release(await win(a), LIMITS);
    recordsA.put = () => {
      recordsA.failNext("get", { kind: "unavailable" });
      return Promise.resolve({ stored: false });
    };

    expect(await a.acquire(acquiring())).toEqual({ acquired: false, current: undefined });
  });

  test("that arrived and was broken before it was found is not led", async () => {
    await a.release(await win(a), LIMITS);
    recordsA.failNext("put", { kind: "unanswered" });
    const acquiringA = a.acquire(acquiring());
    await clock.settle();
    await b.break(ELECTION, { reason: "maintenance" });

    await expect(clock.runUntil(acquiringA)).resolves.toMatchObject({ acquired: false });
    expect(service.record(ELECTION)).toMatchObject({ term: 2, broken: { reason: "maintenance" } });
  });

  test("that met another transaction, and whose next try comes too late, is known not to be written", async () => {
    const late: Clock = {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs(),
      random: () => clock.random(),
      randomUuid: () => clock.randomUuid(),
      setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs < 100 ? delayMs + LEASE_MS : delayMs),
    };
    const records = service.connect("late");
    let sent = 0;
    records.put = async () => {
      sent += 1;
      const details = { store: "faulty", operation: "put", mayHaveBeenApplied: false };
      throw new StoreError("STORE_CONFLICT", "a transaction is under way", details);
    };

    const attempt = clock.runUntil(new RecordLeaseStore(records, { clock: late }).acquire(acquiring({ candidateId: "late" })));

    await expect(attempt).rejects.toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: false });
    expect(sent).toBe(1);
  });

  test("that certainly failed throws its error, without a read", async () => {
    await a.release(await win(a), LIMITS);
    recordsA.failNext("put", { kind: "throttled", retryAfterMs: 700 });
    const reads = service.count("a", "get");

    await expect(a.acquire(acquiring())).rejects.toMatchObject({ code: "STORE_THROTTLED", retryAfterMs: 700 });
    expect(service.count("a", "get")).toBe(reads);
  });

  test("blocks a second candidate on the same store while it may still turn out to be won", async () => {
    await a.release(await win(a), LIMITS);
    recordsA.failNext("put", { kind: "unanswered" });
    // Both reads are under way when the acquisition arrives. The read that resolves the attempt returns last.
    recordsA.failNext("get", { kind: "slow", latencyMs: 800 }, { kind: "slow", latencyMs: 100 });
    const acquiringA = a.acquire(acquiring());
    await clock.advance(LIMITS.timeoutMs);

    const beside = await clock.runUntil(a.read(ELECTION));
    const second = await a.acquire(acquiring({ candidateId: "beside" }));
    const first = await clock.runUntil(acquiringA);

    expect(beside).toMatchObject({ term: 2 });
    expect([first.acquired, second.acquired]).toEqual([true, false]);
  });

  test("never ends with two winners on one store, in any order of the replies", async () => {
    await a.release(await win(a), LIMITS);
    recordsA.failNext("put", { kind: "unanswered" }, { kind: "slow", latencyMs: 900 });
    recordsA.failNext("get", { kind: "slow", latencyMs: 400 }, { kind: "slow", latencyMs: 100 });
    const acquiringA = a.acquire(acquiring());
    await clock.advance(LIMITS.timeoutMs);

    await clock.runUntil(a.read(ELECTION));
    const acquiringBeside = a.acquire(acquiring({ candidateId: "beside" }));
    const outcomes = await clock.runUntil(Promise.all([acquiringA, acquiringBeside]));

    expect(outcomes.filter(({ acquired }) => acquired)).toHaveLength(1);
  });
});

describe("acquire refuses before any request", () => {
  test.each([
    ["an empty election", { election: "" }],
    ["a control character in the candidateId", { candidateId: "a\nb" }],
    ["a lone surrogate in the value", { value: "\ud800" }],
    ["a value that does not fit", { value: "x".repeat(1_025) }],
  ])("%s", async (_, overrides) => {
    await expect(a.acquire(acquiring(overrides))).rejects.toBeInstanceOf(ConfigurationError);
    expect(service.log).toHaveLength(0);
  });

  // Such a record could not be read back, and so would never be overwritten. It would end the election for good.
  test.each([
    ["a lease that is not a number", { leaseDurationMs: NaN }],
    ["an infinite lease", { leaseDurationMs: Infinity }],
    ["a renewal interval of nothing", { renewIntervalMs: 0 }],
    ["a term that is no whole number", { minTerm: 1.5 }],
  ])("%s", async (_, overrides) => {
    await expect(a.acquire(acquiring(overrides))).rejects.toBeInstanceOf(ConfigurationError);
    expect(service.record(ELECTION)).toBeUndefined();
  });

  test("a term beyond the safe integers, so the record stays readable", async () => {
    await a.release(await win(a, { minTerm: Number.MAX_SAFE_INTEGER }), LIMITS);

    await expect(a.acquire(acquiring())).rejects.toBeInstanceOf(LeaseholdError);
    expect(await b.read(ELECTION)).toMatchObject({ state: "vacant", term: Number.MAX_SAFE_INTEGER });
  });
});

describe("new RecordLeaseStore", () => {
  test.each([undefined, null, {}, { get: () => undefined }, { put: () => undefined }, "records"])(
    "of %j is refused",
    (records) => {
      expect(() => new RecordLeaseStore(records as never)).toThrow(ConfigurationError);
    },
  );

  test("refuses an object without capabilities", () => {
    expect(() => new RecordLeaseStore({ get: () => undefined, put: () => undefined } as never)).toThrow(ConfigurationError);
  });
});
