import { MemoryLeaseStore, StoreError, UnsupportedError } from "@leasehold/core";
import { MemoryRecordStore, RecordLeaseStore, sleep } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { lastRun, onlyAsLeader } from "@leasehold/functions";
import { beforeEach, describe, expect, test } from "vitest";

const ELECTION = "close-the-books";
const HOUR_MS = 3_600_000;

let clock: VirtualClock;
let store: MemoryLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
});

function hourly(scheduledMs: number, more: object = {}) {
  const occurrence = () => ({ name: "hourly", scheduledMs });
  return { gate: "oncePerTick", store, election: ELECTION, remainingMs: 60_000, clock, occurrence, ...more } as const;
}

/** Calls `wait` before the store writes which run was the last one. */
function beforeNote(wait: () => Promise<void>): void {
  const occurrences = store.occurrences.bind(store);
  store.occurrences = (election) => {
    const kept = occurrences(election);
    const acquire = kept.acquire.bind(kept);
    kept.acquire = async (request) => {
      if (request.election === "last-run") await wait();
      return await acquire(request);
    };
    return kept;
  };
}

describe("lastRun", () => {
  test("returns the occurrence that was done last, and when", async () => {
    const dueMs = clock.wallMs();
    await expect(lastRun(store, ELECTION)).resolves.toBeUndefined();
    await onlyAsLeader(hourly(dueMs), () => clock.advance(5_000))();
    const first = { occurrence: "hourly@2026-01-01T00:00:00.000Z", scheduledMs: dueMs, attempt: 1, doneMs: dueMs + 5_000 };
    await expect(lastRun(store, ELECTION)).resolves.toEqual(first);

    await clock.advance(HOUR_MS - 5_000);
    await onlyAsLeader(hourly(dueMs + HOUR_MS), () => "ran")();
    await expect(lastRun(store, ELECTION)).resolves.toMatchObject({ scheduledMs: dueMs + HOUR_MS, doneMs: dueMs + HOUR_MS });
    await expect(lastRun(store, "another")).resolves.toBeUndefined();
  });

  test("ignores occurrences that failed, that are older, or that were caught up with", async () => {
    const dueMs = clock.wallMs();
    const catchUp = { previous: (ms: number) => ms - HOUR_MS, atMost: 2, since: "2025-12-31T00:00:00Z" };
    await onlyAsLeader(hourly(dueMs, { catchUp }), () => "ran")();
    await clock.advance(60_000);
    await expect(onlyAsLeader(hourly(dueMs + HOUR_MS / 2), () => Promise.reject(new Error("no")))()).rejects.toThrow("no");
    await clock.advance(60_000);
    await onlyAsLeader(hourly(dueMs - 5 * HOUR_MS), () => "ran")();

    await expect(lastRun(store, ELECTION)).resolves.toMatchObject({ scheduledMs: dueMs });
  });

  test("stays at the run before if the store fails at that moment, and nothing else fails", async () => {
    beforeNote(() => {
      throw new StoreError("STORE_UNAVAILABLE", "away", { store: "memory", operation: "put", mayHaveBeenApplied: false });
    });

    await expect(onlyAsLeader(hourly(clock.wallMs()), () => "ran")()).resolves.toBe("ran");
    await expect(lastRun(store, ELECTION)).resolves.toBeUndefined();
  });

  test("is there when the invocation ends, because the platform may freeze the process then", async () => {
    beforeNote(async () => await sleep(clock, 1_000));
    const dueMs = clock.wallMs();

    await clock.runUntil(onlyAsLeader(hourly(dueMs), () => "ran")());
    await expect(lastRun(store, ELECTION)).resolves.toMatchObject({ scheduledMs: dueMs });
  });

  test("limits each request to a tenth of the time that is left, or to five seconds", async () => {
    const occurrences = store.occurrences.bind(store);
    const limits: unknown[] = [];
    store.occurrences = (election) => {
      const kept = occurrences(election);
      const read = kept.read.bind(kept);
      kept.read = async (name, options) => {
        if (name === "last-run") limits.push(options?.timeoutMs);
        return await read(name, options);
      };
      return kept;
    };
    await onlyAsLeader(hourly(clock.wallMs()), () => clock.advance(20_000))();
    await onlyAsLeader(hourly(clock.wallMs() + HOUR_MS, { remainingMs: 600_000 }), () => "ran")();

    expect(limits).toEqual([4_000, 5_000]);
  });

  test("needs an election's name", async () => {
    await expect(lastRun(store, "")).rejects.toThrow("election is empty");
  });

  test("needs a store that keeps occurrences", async () => {
    await expect(lastRun(undefined as never, ELECTION)).rejects.toThrow("store is not a LeaseStore");
    await expect(lastRun(new RecordLeaseStore(new MemoryRecordStore()), ELECTION)).rejects.toThrow(UnsupportedError);
  });
});
