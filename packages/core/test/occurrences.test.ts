import {
  Elector,
  ConfigurationError,
  MemoryLeaseStore,
  type LeaderTask,
  type OccurrenceLeadership,
  type TryRunOutcome,
} from "@leasehold/core";
import { RecordLeaseStore, RecordOccurrenceStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { RecordService, type FaultyRecordStore } from "./faulty-record-store.ts";

const OCCURRENCE = "nightly@2026-11-20T10:00:00.000Z";

let clock: VirtualClock;
let service: RecordService;
let records: FaultyRecordStore;

beforeEach(() => {
  clock = new VirtualClock();
  service = new RecordService(clock);
  records = service.connect("a");
});

function occurrences(of = records): RecordOccurrenceStore {
  return new RecordOccurrenceStore(of, { clock });
}

function attempt<T>(task: LeaderTask<T, OccurrenceLeadership>, store = occurrences()): Promise<TryRunOutcome<T>> {
  return new Elector({ store, election: OCCURRENCE, clock }).tryRun(task);
}

describe("an occurrence", () => {
  test("ends its leadership when it is completed, without an abort of the signal", async () => {
    await attempt(async (leadership) => {
      await leadership.complete();
      await clock.advance(0.8 * LEASE_MS);
      expect(leadership.isValid()).toBe(false);
      expect(leadership.signal.aborted).toBe(false);
      expect(() => leadership.assertValid()).toThrow("it is done");
      await expect(leadership.renew()).rejects.toThrow("it is done");
    });
  });

  test("can be completed after its lease if no other candidate has taken over", async () => {
    const outcome = attempt(async (leadership) => {
      records.failAll({ kind: "unavailable" });
      await clock.advance(2 * LEASE_MS);
      records.heal();
      expect(leadership.isValid()).toBe(false);
      await leadership.complete();
    });

    await expect(outcome).resolves.toMatchObject({ elected: true });
    expect(service.record(OCCURRENCE)).toMatchObject({ done: true });
  });

  test("that another candidate has taken over cannot be completed by the former leader", async () => {
    const rival = occurrences(service.connect("b"));
    await rival.read(OCCURRENCE);
    const outcome = attempt(async (leadership) => {
      records.failAll({ kind: "unavailable" });
      await rival.read(OCCURRENCE);
      await clock.advance(2 * LEASE_MS);
      await win(rival, { candidateId: "b", election: OCCURRENCE });
      records.heal();
      await leadership.complete();
    });

    await expect(outcome).rejects.toMatchObject({ code: "LEASE_LOST", reason: "taken" });
    expect(service.record(OCCURRENCE)).toMatchObject({ term: 2, candidateId: "b" });
  });

  test("whose completion had no reply is found done, and is done once", async () => {
    const outcome = attempt(async (leadership) => {
      records.failNext("put", { kind: "unanswered" });
      await leadership.complete();
      return "worked";
    });

    await expect(clock.runUntil(outcome)).resolves.toMatchObject({ elected: true, result: "worked" });
    expect(service.record(OCCURRENCE)).toMatchObject({ term: 1, done: true });
  });

  test("can be completed twice by its own leader, and never after a release", async () => {
    await attempt(async (leadership) => {
      await Promise.all([leadership.complete(), leadership.complete()]);
      await leadership.complete();
    });
    const store = occurrences();
    const lease = await win(store, { election: "another" });
    records.failNext("put", { kind: "unanswered" });
    await expect(clock.runUntil(store.release(lease, LIMITS))).rejects.toMatchObject({ code: "STORE_TIMEOUT" });

    await expect(store.complete(lease, LIMITS)).resolves.toBe("not-held");
    expect(service.record("another")).not.toHaveProperty("done");
  });

  test.each([10n, 7, "text", null, ["rows"], { rows: 7 }, { skipped: "rows 3 and 7" }, () => 1])(
    "is completed without a result by a value that is no completion: %s",
    async (value) => {
      await attempt((leadership) => leadership.complete(value as never));

      expect(service.record(OCCURRENCE)).toMatchObject({ done: true });
      expect(service.record(OCCURRENCE)).not.toHaveProperty("value");
    },
  );

  test("keeps its leadership if a completion is refused, and can be completed afterwards", async () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    await attempt(async (leadership) => {
      for (const completion of [{ result: cycle }, { result: 10n }, { failure: "x".repeat(100_000) }]) {
        await expect(leadership.complete(completion)).rejects.toBeInstanceOf(ConfigurationError);
        expect(leadership.isValid()).toBe(true);
      }
      await leadership.complete({ result: 7 });
    });

    expect(service.record(OCCURRENCE)).toMatchObject({ done: true, value: '{"result":7}' });
  });

  test("that was released after a completion without a reply is completed or open, and a late write changes nothing", async () => {
    for (const [kind, done] of [
      ["unanswered", true],
      ["late", undefined],
    ] as const) {
      const store = occurrences();
      const lease = await win(store, { election: kind });
      records.failNext("put", kind === "late" ? { kind, byMs: 5_000 } : { kind });
      await expect(clock.runUntil(store.complete(lease, LIMITS))).rejects.toMatchObject({
        code: "STORE_TIMEOUT",
      });

      expect(await store.release(lease, LIMITS)).toBe(done ? "not-held" : "released");
      await clock.advance(10_000);

      expect(service.record(kind)).toMatchObject({ term: 1, termId: null });
      expect(service.record(kind)?.done).toBe(done);
    }
  });

  test("whose renewal had no reply is completed all the same", async () => {
    const store = occurrences();
    const lease = await win(store, { election: OCCURRENCE });
    records.failNext("put", { kind: "unanswered" });
    await clock.runUntil(store.renew(lease, LIMITS)).catch(() => undefined);

    expect(await store.complete(lease, LIMITS)).toBe("released");
    expect(service.record(OCCURRENCE)).toMatchObject({ term: 1, termId: null, done: true });
  });

  test("whose completion fails is open for another attempt", async () => {
    const outcome = attempt(async (leadership) => {
      records.failNext("put", { kind: "unavailable" }, { kind: "unavailable" });
      await leadership.complete();
    });

    await expect(clock.runUntil(outcome)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await expect(attempt(({ term }) => term)).resolves.toMatchObject({ result: 2 });
  });
});

describe("a first claim", () => {
  test("that loses to another claim since the last read makes the next attempt read first", async () => {
    const store = occurrences();
    await expect(store.read(OCCURRENCE)).resolves.toBeUndefined();
    await win(occurrences(service.connect("b")), { candidateId: "b", election: OCCURRENCE });

    await expect(store.acquire(acquiring({ election: OCCURRENCE }))).resolves.toMatchObject({
      acquired: false,
      current: { holder: "b", term: 1 },
    });
    await expect(store.acquire(acquiring({ election: OCCURRENCE }))).resolves.toMatchObject({ acquired: false });
    expect(service.record(OCCURRENCE)).toMatchObject({ candidateId: "b" });
  });
});

describe("an election", () => {
  test("cannot be completed", async () => {
    const store = new RecordLeaseStore(records, { clock });
    const elector = new Elector({ store, election: ELECTION, clock });

    await expect(elector.tryRun((leadership) => "complete" in leadership)).resolves.toMatchObject({ result: false });
    expect(store).not.toHaveProperty("complete");
  });
});

describe("MemoryLeaseStore.occurrences", () => {
  test("need an election with a valid name", () => {
    expect(() => new MemoryLeaseStore({ clock }).occurrences("")).toThrow(ConfigurationError);
  });
});
