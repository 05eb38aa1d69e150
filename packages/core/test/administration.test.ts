import { ConfigurationError } from "@leasehold/core";
import { type BreakOptions, mayAcquire, RecordLeaseStore, RecordOccurrenceStore, type Lease } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { RecordService, type FaultyRecordStore } from "./faulty-record-store.ts";

const WEST = { group: "west", durationMs: 3_600_000 };
const MINUTE_MS = 60_000;

let clock: VirtualClock;
let service: RecordService;
let holderRecords: FaultyRecordStore;
let holder: RecordLeaseStore;
let rival: RecordLeaseStore;
let adminRecords: FaultyRecordStore;
let admin: RecordLeaseStore;
let lease: Lease;

beforeEach(async () => {
  clock = new VirtualClock();
  service = new RecordService(clock);
  holderRecords = service.connect("a");
  holder = new RecordLeaseStore(holderRecords, { clock });
  rival = new RecordLeaseStore(service.connect("c"), { clock });
  adminRecords = service.connect("admin");
  admin = new RecordLeaseStore(adminRecords, { clock });
  lease = await win(holder, { reservation: WEST });
  await rival.read(ELECTION);
});

/** Transfers to a candidate that never comes. */
async function transfer(): Promise<void> {
  const asked = new AbortController();
  const outcome = admin.transfer(ELECTION, "nobody", { transferTimeoutMs: 10 * MINUTE_MS, signal: asked.signal });
  outcome.catch(() => undefined);
  await clock.settle();
  asked.abort();
}

async function isOpenToRival(): Promise<boolean> {
  return mayAcquire(await rival.read(ELECTION), "c");
}

test("an order whose outcome stays unknown is tried four times", async () => {
  adminRecords.failAll({ kind: "reset", applied: false }, "put");

  await expect(clock.runUntil(admin.break(ELECTION, { reason: "stuck" }))).rejects.toMatchObject({ mayHaveBeenApplied: true });

  expect(service.count("admin", "put")).toBe(4);
});

test.each(["break", "transfer"] as const)("%s waits for each reply no longer than it was told to", async (call) => {
  adminRecords.failAll({ kind: "lost" }, "get");
  const limits = { timeoutMs: 700 };
  const asked: Promise<unknown> =
    call === "break" ? admin.break(ELECTION, { reason: "stuck", ...limits }) : admin.transfer(ELECTION, "b", limits);
  const sentMs = clock.monotonicMs();

  await expect(clock.runUntil(asked)).rejects.toMatchObject({ code: "STORE_TIMEOUT" });

  expect(clock.monotonicMs() - sentMs).toBe(700);
});

describe("a break lifts", () => {
  const BARS: Record<string, () => Promise<unknown>> = {
    "a hold": () => holder.release(lease, { ...LIMITS, holdMs: MINUTE_MS }),
    "a reservation": () => holder.release(lease, LIMITS),
    "a transfer that was asked of the leader": async () => {
      await transfer();
      await holder.renew(lease, LIMITS);
      await holder.release(lease, LIMITS);
    },
    "a transfer of a lease that was free": async () => {
      await holder.release(lease, LIMITS);
      await transfer();
    },
    "a transfer with a hold before it": async () => {
      await transfer();
      await holder.renew(lease, LIMITS);
      await holder.release(lease, { ...LIMITS, holdMs: MINUTE_MS });
    },
    "a transfer from a leader that died": async () => {
      await transfer();
      await clock.advance(LEASE_MS);
      await rival.read(ELECTION);
    },
    "a reservation of a leader that died": async () => {
      await admin.read(ELECTION);
      await clock.advance(LEASE_MS);
    },
  };
  const HOWS: ReadonlyArray<Omit<BreakOptions, "reason">> = [{}, { immediate: true }];

  test.each(Object.keys(BARS).flatMap((what) => HOWS.map((how) => [what, how] as const)))("%s (%j)", async (what, how) => {
    await BARS[what]?.();
    await expect(isOpenToRival()).resolves.toBe(false);

    await expect(admin.break(ELECTION, { reason: "nobody came", ...how })).resolves.toEqual({ broken: true, term: 1 });

    await expect(isOpenToRival()).resolves.toBe(true);
    // A second break finds nothing to lift.
    await expect(admin.break(ELECTION, { reason: "again" })).resolves.toMatchObject({ broken: false });
    expect((await win(rival, { candidateId: "c" })).term).toBe(2);
    expect(service.record(ELECTION)).not.toHaveProperty("broken");
  });

  test.each(HOWS)("a transfer that the leader has not read yet and that waits only for its lease (%j)", async (how) => {
    await transfer();
    await admin.break(ELECTION, { reason: "a mistake", ...how });

    await expect(isOpenToRival()).resolves.toBe(how.immediate ?? false);
    await clock.advance(LEASE_MS);
    await expect(isOpenToRival()).resolves.toBe(true);
  });

  test("the hold that the holder of a broken term releases with", async () => {
    await admin.break(ELECTION, { reason: "maintenance" });
    await holder.renew(lease, LIMITS);
    await holder.release(lease, { ...LIMITS, holdMs: MINUTE_MS });

    await expect(isOpenToRival()).resolves.toBe(true);
  });

  test("the hold of a release that has failed, in the very process that released", async () => {
    holderRecords.failAll({ kind: "unavailable" });
    await expect(holder.release(lease, { ...LIMITS, holdMs: MINUTE_MS })).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    holderRecords.heal();
    expect(mayAcquire(await holder.read(ELECTION), "a")).toBe(false);

    await admin.break(ELECTION, { reason: "maintenance" });

    expect(mayAcquire(await holder.read(ELECTION), "a")).toBe(true);
  });

  test("the lease of a release that has failed, ordered in the very process that released", async () => {
    holderRecords.failAll({ kind: "unavailable" });
    await expect(holder.release(lease, LIMITS)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    holderRecords.heal();

    const how = { reason: "maintenance", immediate: true };
    await expect(holder.break(ELECTION, how)).resolves.toEqual({ broken: true, term: 1 });

    await expect(isOpenToRival()).resolves.toBe(true);
  });

  test("nothing of a completed occurrence", async () => {
    const occurrences = new RecordOccurrenceStore(service.connect("d"), { clock });
    const claim = await win(occurrences, { candidateId: "d", election: "occurrence" });
    await occurrences.complete(claim, LIMITS);
    const before = service.record("occurrence");

    await expect(admin.break("occurrence", { reason: "again" })).resolves.toMatchObject({ broken: false });
    await expect(admin.transfer("occurrence", "b")).resolves.toBe("lost");
    expect(service.record("occurrence")).toEqual(before);
  });
});

describe("a transfer", () => {
  test("takes half a minute by default", async () => {
    const outcome = admin.transfer(ELECTION, "nobody");
    await clock.settle();

    expect(service.record(ELECTION)).toMatchObject({ bars: [{ untilMs: LEASE_MS + 30_000, except: { candidateId: "nobody" } }] });
    await expect(clock.runUntil(outcome)).resolves.toBe("expired");
  });

  test("of ten minutes is the longest; a longer one is refused before any request", async () => {
    const sent = service.log.length;
    await expect(admin.transfer("", "b")).rejects.toThrow(ConfigurationError);
    await expect(admin.break("", { reason: "why" })).rejects.toThrow(ConfigurationError);
    const tooLong = admin.transfer(ELECTION, "b", { transferTimeoutMs: 10 * MINUTE_MS + 1 });
    await expect(tooLong).rejects.toThrow(ConfigurationError);
    await expect(tooLong).rejects.toThrow(/600001.*600000/);
    expect(service.log).toHaveLength(sent);

    await transfer();
    expect(service.record(ELECTION)).toMatchObject({ bars: [{ untilMs: LEASE_MS + 10 * MINUTE_MS }] });
  });

  test("of a lease in its hold leaves the rest of the hold, and gives the named candidate its whole time after it", async () => {
    await admin.read(ELECTION);
    await holder.release(lease, { ...LIMITS, holdMs: MINUTE_MS });
    await Promise.all([admin.read(ELECTION), rival.read(ELECTION)]);
    await clock.advance(20_000);
    const outcome = admin.transfer(ELECTION, "b", { transferTimeoutMs: 5_000 });
    await clock.settle();

    await expect(rival.read(ELECTION)).resolves.toMatchObject({ bar: { kind: "hold", leftMs: 40_000 } });
    await clock.advance(39_999);
    await expect(rival.acquire(acquiring({ candidateId: "b" }))).resolves.toMatchObject({
      acquired: false,
      current: { bar: { leftMs: 1 } },
    });
    await clock.advance(1);
    await expect(rival.acquire(acquiring({ candidateId: "c" }))).resolves.toMatchObject({ acquired: false });
    await clock.advance(4_999);
    expect((await win(rival, { candidateId: "b" })).term).toBe(2);
    await expect(clock.runUntil(outcome)).resolves.toBe("accepted");
  });

  test("makes a holder whose release has failed wait for the named candidate, as others do", async () => {
    await transfer();
    await holder.renew(lease, LIMITS);
    holderRecords.failAll({ kind: "unavailable" });
    await expect(holder.release(lease, LIMITS)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    holderRecords.heal();
    await clock.advance(LEASE_MS - 1_000);

    await expect(holder.read(ELECTION)).resolves.toMatchObject({ state: "vacant", bar: { candidateId: "nobody" } });
    await expect(holder.acquire(acquiring())).resolves.toMatchObject({ acquired: false });
  });

  test("of an election that never was is lost", async () => {
    await expect(admin.transfer("unheard-of", "b")).resolves.toBe("lost");
    expect(service.record("unheard-of")).toBeUndefined();
  });

  test("stops waiting when its signal aborts, with the signal's reason; the order stays in force", async () => {
    const stopping = new AbortController();
    const outcome = admin.transfer(ELECTION, "b", { signal: stopping.signal });
    await clock.settle();
    stopping.abort("never mind");

    await expect(outcome).rejects.toBe("never mind");
    await expect(holder.renew(lease, LIMITS)).resolves.toMatchObject({ transferTo: "b" });
    expect(clock.pendingTimers).toBe(0);
  });

  test("of a lease that is broken and still runs is lost", async () => {
    await admin.break(ELECTION, { reason: "maintenance" });
    const before = service.record(ELECTION);

    await expect(admin.transfer(ELECTION, "c")).resolves.toBe("lost");
    expect(service.record(ELECTION)).toEqual(before);
  });
});

describe("an administrator's request whose outcome is unknown", () => {
  const LOST = { unanswered: { kind: "unanswered" }, lost: { kind: "lost" }, reset: { kind: "reset", applied: true } } as const;

  test.each(Object.keys(LOST) as Array<keyof typeof LOST>)("is found by reading, or sent again: a break (%s)", async (how) => {
    adminRecords.failNext("put", LOST[how]);

    await expect(clock.runUntil(admin.break(ELECTION, { reason: "why" }))).resolves.toEqual({ broken: true, term: 1 });

    expect(service.record(ELECTION)).toMatchObject({ term: 1, broken: { reason: "why" } });
    expect(service.count("admin", "put")).toBe(how === "lost" ? 2 : 1);
  });

  test.each(Object.keys(LOST) as Array<keyof typeof LOST>)("is found by reading, or sent again: a transfer (%s)", async (how) => {
    adminRecords.failNext("put", LOST[how]);
    const outcome = admin.transfer(ELECTION, "c");
    await clock.advance(10_000);
    await holder.renew(lease, LIMITS);
    await holder.release(lease, LIMITS);
    await rival.read(ELECTION);
    await win(rival, { candidateId: "c" });

    await expect(clock.runUntil(outcome)).resolves.toBe("accepted");
    expect(service.count("admin", "put")).toBe(how === "lost" ? 2 : 1);
  });

  test.each([{}, { immediate: true }])("spares the successor, and counts as carried out: a break (%j)", async (how) => {
    adminRecords.failNext("put", { kind: "unanswered" });
    const outcome = admin.break(ELECTION, { reason: "why", ...how });
    await clock.settle();
    await holder.release(lease, LIMITS);
    await admin.break(ELECTION, { reason: "the reservation" });
    await rival.read(ELECTION);
    const successor = await win(rival, { candidateId: "c" });

    await expect(clock.runUntil(outcome)).resolves.toEqual({ broken: true, term: 1 });
    await expect(rival.renew(successor, LIMITS)).resolves.toMatchObject({ held: true });
    expect(service.record(ELECTION)).not.toHaveProperty("broken");
  });

  test("spares the successor if it never arrived: a break", async () => {
    adminRecords.failNext("put", { kind: "lost" });
    const outcome = admin.break(ELECTION, { reason: "why" });
    await clock.settle();
    await holder.release(lease, LIMITS);
    const successor = await win(holder, { reservation: WEST });

    await expect(clock.runUntil(outcome)).resolves.toEqual({ broken: true, term: 1 });
    await expect(holder.renew(successor, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("counts as carried out if the term ended before the second try arrived: a break", async () => {
    const put = adminRecords.put.bind(adminRecords);
    adminRecords.failNext("put", { kind: "lost" });
    const outcome = admin.break(ELECTION, { reason: "why" });
    await clock.settle();
    adminRecords.put = async (...request) => {
      await holder.release(lease, LIMITS);
      await win(holder, { reservation: WEST });
      return await put(...request);
    };

    await expect(clock.runUntil(outcome)).resolves.toEqual({ broken: true, term: 1 });
    expect(service.record(ELECTION)).not.toHaveProperty("broken");
  });

  test("goes on after failed reads", async () => {
    adminRecords.failNext("put", { kind: "unanswered" });
    const outcome = admin.break(ELECTION, { reason: "why" });
    await clock.settle();
    adminRecords.failNext("get", { kind: "unavailable" }, { kind: "lost" });

    await expect(clock.runUntil(outcome)).resolves.toEqual({ broken: true, term: 1 });
  });

  /** Delivers the next write twice, and answers with the second outcome. The read after it fails. */
  function deliverTwice(): void {
    const put = adminRecords.put.bind(adminRecords);
    adminRecords.put = async (...request) => {
      adminRecords.put = put;
      await put(...request);
      adminRecords.failNext("get", { kind: "unavailable" });
      return await put(...request);
    };
  }

  test("is found by reading if it was delivered twice and the second reply came first: a break", async () => {
    deliverTwice();

    await expect(clock.runUntil(admin.break(ELECTION, { reason: "why" }))).resolves.toEqual({ broken: true, term: 1 });
  });

  test("is found by reading even after the ended term was released: a break", async () => {
    deliverTwice();
    const outcome = admin.break(ELECTION, { reason: "why" });
    await clock.settle();
    await holder.release(lease, LIMITS);

    await expect(clock.runUntil(outcome)).resolves.toEqual({ broken: true, term: 1 });
    expect(await rival.read(ELECTION)).toMatchObject({ state: "vacant", endingReason: "why" });
  });

  test.each([
    ["", false],
    [", where a failover may undo it", true],
  ])("is found by reading even after another administrator broke that term, too%s: a break", async (_, showsUndurable) => {
    adminRecords = service.connect("admin", { showsUndurable });
    admin = new RecordLeaseStore(adminRecords, { clock });
    deliverTwice();
    const outcome = admin.break(ELECTION, { reason: "why" });
    await clock.settle();
    await holder.break(ELECTION, { reason: "at once", immediate: true });

    await expect(clock.runUntil(outcome)).resolves.toEqual({ broken: true, term: 1 });
    expect(service.record(ELECTION)).toMatchObject({ termId: null, broken: { reason: "at once" } });
  });

  test("counts although a failover may undo it, and the reply to its confirmation is lost, too: a break", async () => {
    adminRecords = service.connect("admin", { showsUndurable: true });
    admin = new RecordLeaseStore(adminRecords, { clock });
    deliverTwice();
    const outcome = admin.break(ELECTION, { reason: "why", immediate: true });
    await clock.settle();
    adminRecords.failNext("put", { kind: "unanswered" });
    await clock.advance(1_000);
    await rival.read(ELECTION);
    await win(rival, { candidateId: "c" });

    await expect(clock.runUntil(outcome)).resolves.toEqual({ broken: true, term: 1 });
  });

  test("becomes an error that tells how to try again without breaking a successor", async () => {
    adminRecords.failNext("put", { kind: "unanswered" });
    const outcome = admin.break(ELECTION, { reason: "why" });
    outcome.catch(() => undefined);
    await clock.settle();
    adminRecords.failAll({ kind: "unavailable" });

    await expect(clock.runUntil(outcome)).rejects.toMatchObject({
      code: "STORE_TIMEOUT",
      operation: "break",
      mayHaveBeenApplied: true,
      message: expect.stringContaining("pass ifTerm: 1") as string,
      cause: { code: "STORE_TIMEOUT", operation: "put" },
    });
    expect(clock.pendingTimers).toBe(0);
  });

  test("throws the failure itself if its write met another one before, as a read has shown", async () => {
    const put = adminRecords.put.bind(adminRecords);
    adminRecords.put = async (...request) => {
      adminRecords.put = put;
      await holder.renew(lease, LIMITS);
      const met = await put(...request);
      adminRecords.failNext("put", { kind: "unavailable" });
      return met;
    };

    const order = admin.break(ELECTION, { reason: "why" });
    await expect(clock.runUntil(order)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false });
  });

  test("throws the failure itself if nothing was sent", async () => {
    adminRecords.failNext("get", { kind: "unavailable" });
    await expect(admin.break(ELECTION, { reason: "why" })).rejects.toMatchObject({ operation: "get" });
    adminRecords.failNext("put", { kind: "throttled", retryAfterMs: 5 });
    await expect(admin.break(ELECTION, { reason: "why" })).rejects.toMatchObject({ code: "STORE_THROTTLED" });
    expect(service.record(ELECTION)).not.toHaveProperty("broken");
  });
});

describe("a transfer that waits", () => {
  test("for a term that was broken and released before is not lost by that", async () => {
    await admin.break(ELECTION, { reason: "why" });
    await holder.release(lease, LIMITS);
    const outcome = admin.transfer(ELECTION, "c", { transferTimeoutMs: 5_000 });
    await clock.advance(1_000);
    await rival.read(ELECTION);
    await win(rival, { candidateId: "c" });

    await expect(clock.runUntil(outcome)).resolves.toBe("accepted");
  });

  test("goes on after failed reads, as long as the transfer may be under way", async () => {
    const outcome = admin.transfer(ELECTION, "c", { transferTimeoutMs: 5_000 });
    await clock.settle();
    adminRecords.failAll({ kind: "unavailable" });
    await holder.renew(lease, LIMITS);
    await holder.release(lease, LIMITS);
    await rival.read(ELECTION);
    await win(rival, { candidateId: "c" });
    await clock.advance(LEASE_MS + 4_000);
    adminRecords.heal();

    await expect(clock.runUntil(outcome)).resolves.toBe("accepted");
  });

  test("goes on after failed reads, as long as a hold blocks the candidate", async () => {
    await holder.release(lease, { ...LIMITS, holdMs: 4 * LEASE_MS });
    const outcome = admin.transfer(ELECTION, "c", { transferTimeoutMs: 5_000 });
    await clock.settle();
    adminRecords.failAll({ kind: "unavailable" });
    await rival.read(ELECTION);
    await clock.advance(4 * LEASE_MS);
    await win(rival, { candidateId: "c" });
    adminRecords.heal();

    await expect(clock.runUntil(outcome)).resolves.toBe("accepted");
  });

  test.each<[what: string, then: () => Promise<unknown>]>([
    ["its term is broken", () => holder.break(ELECTION, { reason: "why" })],
    ["another transfer replaces it", () => transfer()],
    ["the election is paused", () => holder.pause(ELECTION, { reason: "why" }).then(() => holder.release(lease, LIMITS))],
  ])("is lost once %s", async (_, then) => {
    const outcome = new RecordLeaseStore(service.connect("e"), { clock }).transfer(ELECTION, "c");
    await clock.settle();
    await then();

    await expect(clock.runUntil(outcome)).resolves.toBe("lost");
  });

  test("is lost once the occurrence is completed", async () => {
    const occurrences = new RecordOccurrenceStore(service.connect("d"), { clock });
    const claim = await win(occurrences, { candidateId: "d", election: "occurrence" });
    const outcome = admin.transfer("occurrence", "b");
    await clock.settle();
    await occurrences.complete(claim, LIMITS);

    await expect(clock.runUntil(outcome)).resolves.toBe("lost");
  });

  test("rejects once it has nothing to wait for, and says that it may have been carried out", async () => {
    const outcome = admin.transfer(ELECTION, "c", { transferTimeoutMs: 5_000 });
    outcome.catch(() => undefined);
    await clock.settle();
    const sinceMs = clock.monotonicMs();
    adminRecords.failAll({ kind: "unavailable" });

    await expect(clock.runUntil(outcome)).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      operation: "transfer",
      mayHaveBeenApplied: true,
      cause: { operation: "get" },
    });
    expect(clock.monotonicMs() - sinceMs).toBe(LEASE_MS + 5_000);
  });

  test("rejects at once if the record is unreadable", async () => {
    const outcome = admin.transfer(ELECTION, "c");
    outcome.catch(() => undefined);
    await clock.settle();
    service.overwrite(ELECTION, { schema: 1, term: "seven" });

    await expect(clock.runUntil(outcome)).rejects.toMatchObject({ code: "FOREIGN_RECORD" });
  });
});
