import { ConfigurationError, MemoryLeaseStore, StoreError, UnsupportedError, type LeaseStore } from "@leasehold/core";
import { RecordLeaseStore, RecordOccurrenceStore, MemoryRecordStore, type RecordStore } from "@leasehold/core/provider";
import { earlierOccurrences } from "@leasehold/core/occurrences";
import { VirtualClock } from "@leasehold/core/testing";
import {
  onlyAsLeader,
  type ClaimedOccurrence,
  type FunctionLeadership,
  type NotElected,
  type Occurrence,
} from "@leasehold/functions";
import { beforeEach, describe, expect, test } from "vitest";

const ELECTION = "nightly-billing";
const TEN = Date.parse("2025-12-31T10:00:00Z");
const HOUR_MS = 3_600_000;
/** The time that the platform gives an invocation. */
const TIMEOUT_MS = 60_000;

let clock: VirtualClock;
let store: MemoryLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
});

function base(scheduledMs = TEN) {
  const occurrence = (): Occurrence => ({ name: "nightly", scheduledMs });
  return { gate: "oncePerTick", store, election: ELECTION, remainingMs: TIMEOUT_MS, clock, occurrence } as const;
}

describe("oncePerTick", () => {
  test("does an occurrence once, however often it is delivered", async () => {
    const ran: (ClaimedOccurrence | undefined)[] = [];
    const gated = onlyAsLeader(base(), ({ occurrence }) => {
      ran.push(occurrence);
      return "ran";
    });

    await expect(gated()).resolves.toBe("ran");
    await expect(gated()).resolves.toEqual({ elected: false, reason: "done" });
    await clock.advance(20 * HOUR_MS);
    await expect(gated()).resolves.toEqual({ elected: false, reason: "done" });
    expect(ran).toEqual([
      { id: "nightly@2025-12-31T10:00:00.000Z", name: "nightly", scheduledMs: TEN, attempt: 1, caughtUp: false },
    ]);
  });

  test("with keepResult a later delivery gets what the handler returned, and nothing if that is no JSON", async () => {
    const gated = onlyAsLeader({ ...base(), keepResult: true }, () => ({ rows: 7 }));
    await expect(gated()).resolves.toEqual({ rows: 7 });
    await expect(gated()).resolves.toEqual({ elected: false, reason: "done", result: { rows: 7 } });

    const dated = onlyAsLeader({ ...base(TEN + HOUR_MS), keepResult: true }, () => new Date(0));
    await expect(dated()).resolves.toEqual(new Date(0));
    await expect(dated()).resolves.toEqual({ elected: false, reason: "done" });
  });

  test("skips an occurrence as missed if its handler would begin after startWithinMs, and still catches up", async () => {
    // It is midnight.
    const within = { ...base(TEN + HOUR_MS), startWithinMs: 13 * HOUR_MS - 1 };
    await expect(onlyAsLeader(within, () => "late")()).resolves.toEqual({ elected: false, reason: "missed" });

    const ran: unknown[] = [];
    const catchUp = { previous: (ms: number) => ms - HOUR_MS, atMost: 1, since: "2025-12-31T00:00:00Z" };
    const catching = onlyAsLeader({ ...within, catchUp }, ({ occurrence }) => ran.push(occurrence?.scheduledMs));
    await expect(catching()).resolves.toEqual({ elected: false, reason: "missed" });
    expect(ran).toEqual([TEN]);

    const inTime = onlyAsLeader({ ...within, startWithinMs: 14 * HOUR_MS }, () => "in time");
    await expect(inTime()).resolves.toBe("in time");
    await expect(onlyAsLeader(within, () => "late")()).resolves.toEqual({ elected: false, reason: "done" });
    expect(() => onlyAsLeader({ ...within, startWithinMs: 0 }, () => 0)).toThrow("startWithinMs is 0 ms");
  });

  test("skips a second delivery while it is claimed, and returns the leader", async () => {
    const working = Promise.withResolvers<void>();
    const first = onlyAsLeader({ ...base(), candidateId: () => "first" }, () => working.promise)();
    await clock.settle();
    const heard: unknown[] = [];
    const twin = onlyAsLeader(
      { ...base(), onStandby: ({ reason, leader }: NotElected) => heard.push([reason, leader]) },
      () => 0,
    );

    await twin();
    working.resolve();
    await first;
    await twin();

    expect(heard).toEqual([
      ["claimed", { candidateId: "first", term: 1, state: "held" }],
      ["done", undefined],
    ]);
  });

  test("does not count an attempt that was cut short as done", async () => {
    const cut = onlyAsLeader(base(), async ({ signal }) => {
      await clock.advance(TIMEOUT_MS - 4_000);
      signal.throwIfAborted();
    });
    await expect(cut()).rejects.toMatchObject({ reason: "out-of-time" });

    await expect(onlyAsLeader(base(), ({ occurrence }) => occurrence?.attempt)()).resolves.toBe(2);
  });

  test("throws if another attempt has taken over, because this one is not the attempt that is done", async () => {
    const options = { ...base(), leaseDurationMs: 5_000, renewal: "checkpoint" } as const;
    const slow = onlyAsLeader(options, async () => {
      await clock.advance(6_000);
      await onlyAsLeader(base(), () => "second")();
      return "first";
    });

    await expect(slow()).rejects.toMatchObject({ code: "LEASE_LOST", reason: "taken" });
  });

  test("has a lease within the limits of the occurrences' store, not of the elections' store", async () => {
    Object.assign(store, { capabilities: { ...store.capabilities, minLeaseMs: 15_000, maxLeaseMs: 60_000 } });
    const leases: number[] = [];
    const note = ({ remainingMs }: FunctionLeadership): number => leases.push(remainingMs());
    await onlyAsLeader({ ...base(), leaseDurationMs: 5_000 }, note)();
    await onlyAsLeader({ ...base(TEN + HOUR_MS), remainingMs: 600_000 }, note)();

    expect(leases[0]).toBe(4_500);
    expect(leases[1]).toBeGreaterThan(600_000);
  });

  test("opens the election's occurrences when the function is loaded, so that an error appears then", () => {
    store.occurrences = (election) => {
      throw new ConfigurationError(`no occurrences of ${election}`);
    };

    expect(() => onlyAsLeader(base(), () => "ran")).toThrow(`no occurrences of ${ELECTION}`);
  });

  test("leaves no valid leadership behind", async () => {
    let kept: FunctionLeadership | undefined;
    await onlyAsLeader(base(), (leadership) => {
      kept = leadership;
    })();

    expect(kept!.isValid()).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });
});

test("occurrences are kept for a week, or for the retentionMs of the options", async () => {
  const occurrences = store.occurrences.bind(store);
  const kept = new Set<number | undefined>();
  const noting: LeaseStore["occurrences"] = (election, options) => {
    kept.add(options?.retentionMs);
    return occurrences(election);
  };
  Object.assign(store, { occurrences: noting });
  await onlyAsLeader(base(), () => "ran")();
  await onlyAsLeader({ ...base(), retentionMs: 24 * HOUR_MS }, () => "ran")();

  expect([...kept]).toEqual([7 * 24 * HOUR_MS, 24 * HOUR_MS]);
});

describe("catchUp", () => {
  const catchUp = { previous: (ms: number) => ms - HOUR_MS, atMost: 3, since: "2025-12-31T08:00:00Z" };

  test("does missed occurrences after the delivered one, the oldest first, and none from before the schedule began", async () => {
    const ran: string[] = [];
    const work = ({ occurrence }: FunctionLeadership): void => {
      ran.push(`${occurrence?.id.slice(19, 24)} ${occurrence?.caughtUp ? "missed" : "delivered"}`);
    };
    await onlyAsLeader({ ...base(), catchUp }, work)();
    expect(ran).toEqual(["10:00 delivered", "08:00 missed", "09:00 missed"]);

    await onlyAsLeader({ ...base(TEN + 6 * HOUR_MS), catchUp }, work)();
    expect(ran.slice(3)).toEqual(["16:00 delivered", "13:00 missed", "14:00 missed", "15:00 missed"]);
  });

  test("skips occurrences that are done or being done, and checks them again the next time", async () => {
    await onlyAsLeader(base(TEN - HOUR_MS), () => "nine")();
    onlyAsLeader(base(TEN - 2 * HOUR_MS), () => new Promise(() => undefined))().catch(() => undefined);
    await clock.settle();
    const ran: (string | undefined)[] = [];
    const work = ({ occurrence }: FunctionLeadership): void => {
      ran.push(occurrence?.id.slice(19, 24));
    };
    await onlyAsLeader({ ...base(), catchUp }, work)();
    expect(ran).toEqual(["10:00"]);
    await clock.advance(70_000);

    await onlyAsLeader({ ...base(TEN + HOUR_MS), catchUp }, work)();
    expect(ran).toEqual(["10:00", "11:00", "08:00"]);
  });

  test("has leases for the time that is left of the invocation", async () => {
    const leases: number[] = [];
    await onlyAsLeader({ ...base(), catchUp }, async ({ remainingMs }) => {
      leases.push(remainingMs());
      await clock.advance(20_000);
    })();

    expect(leases).toHaveLength(3);
    for (const [index, leftMs] of [60_000, 40_000, 20_000].entries()) {
      expect(leases[index]).toBeGreaterThan(leftMs);
      expect(leases[index]).toBeLessThan(leftMs + 2_000);
    }
  });

  test("does the others if one fails, and reports the failure to the platform", async () => {
    const ran: (string | undefined)[] = [];
    const gated = onlyAsLeader({ ...base(), catchUp }, ({ occurrence }) => {
      ran.push(occurrence?.id.slice(19, 24));
      if (ran.length === 1) throw new Error("ten is poison");
    });

    await expect(gated()).rejects.toThrow("ten is poison");
    expect(ran).toEqual(["10:00", "08:00", "09:00"]);
  });

  test("reports every failure to the platform", async () => {
    const failingAt = (...poison: readonly string[]) =>
      onlyAsLeader({ ...base(), catchUp }, ({ occurrence }) => {
        const hour = occurrence!.id.slice(19, 24);
        if (poison.includes(hour)) throw new Error(`${hour} is poison`);
      })();

    await expect(failingAt("09:00", "08:00", "10:00")).rejects.toMatchObject({
      message: "3 occurrences of 'nightly-billing' failed.",
      errors: [{ message: "10:00 is poison" }, { message: "08:00 is poison" }, { message: "09:00 is poison" }],
    });
    await expect(failingAt("08:00", "09:00")).rejects.toMatchObject({ message: "2 occurrences of 'nightly-billing' failed." });
    await expect(failingAt("09:00")).rejects.toThrow("09:00 is poison");
  });

  test("ends if the store becomes unavailable", async () => {
    const occurrences = store.occurrences.bind(store);
    const asked = new Set<string>();
    store.occurrences = (election) => {
      const kept = occurrences(election);
      const read = kept.read.bind(kept);
      kept.read = async (id, readOptions) => {
        if (id === "last-run") return undefined;
        asked.add(id.slice(19, 24));
        if (id.includes("T10:")) return await read(id, readOptions);
        throw new StoreError("STORE_UNAVAILABLE", "away", { store: "memory", operation: "get", mayHaveBeenApplied: false });
      };
      return kept;
    };

    await expect(clock.runUntil(onlyAsLeader({ ...base(), catchUp }, () => "ten")())).resolves.toBe("ten");
    expect([...asked]).toEqual(["10:00", "08:00"]);
  });

  test("looks back for an hour less than the retention, and at most a hundred times", () => {
    const atMost = 100;
    const since = "2025-01-01T00:00:00Z";
    expect(() => onlyAsLeader({ ...base(), catchUp: { ...catchUp, atMost } }, () => "ran")).not.toThrow();

    const ten = { name: "nightly", scheduledMs: TEN };
    const dayMs = 24 * HOUR_MS;
    expect(earlierOccurrences(ten, { ...catchUp, atMost, since }, dayMs, TEN).map(({ scheduledMs }) => scheduledMs)).toEqual(
      Array.from({ length: 23 }, (_, hour) => TEN + (hour - 23) * HOUR_MS),
    );
    expect(earlierOccurrences(ten, { ...catchUp, atMost, since }, 30 * dayMs, TEN)).toHaveLength(atMost);
    // One delivery is late on a machine whose clock is right. The other is on a machine whose clock is slow.
    expect(earlierOccurrences(ten, { ...catchUp, atMost, since }, dayMs, TEN + 5 * HOUR_MS)).toHaveLength(18);
    expect(earlierOccurrences(ten, { ...catchUp, atMost, since }, dayMs, TEN - 5 * HOUR_MS)).toHaveLength(23);
  });

  test("does not count an occurrence as missed if its record may be deleted", async () => {
    const retentionMs = 24 * HOUR_MS;
    const records = new Map<string, { readonly kept: MemoryRecordStore; writtenMs: number }>();
    const find = (id: string): MemoryRecordStore | undefined => {
      const found = records.get(id);
      return found && clock.wallMs() - found.writtenMs < retentionMs ? found.kept : undefined;
    };
    // A store that deletes an occurrence as soon as it may.
    const forgetting: RecordStore = {
      name: "forgetting",
      capabilities: new MemoryRecordStore(clock).capabilities,
      get: (id) => find(id)?.get(id) ?? Promise.resolve(undefined),
      put: async (id, record, options) => {
        const kept = find(id) ?? new MemoryRecordStore(clock);
        records.set(id, { kept, writtenMs: clock.wallMs() });
        return await kept.put(id, record, options);
      },
    };
    store.occurrences = () => new RecordOccurrenceStore(forgetting, { clock });
    const ran: string[] = [];
    for (let tick = 0; tick < 60; tick += 1) {
      const scheduledMs = clock.wallMs();
      const options = { ...base(scheduledMs), retentionMs, catchUp: { ...catchUp, atMost: 48, since: "2026-01-01T00:00:00Z" } };
      await onlyAsLeader(options, ({ occurrence }) => ran.push(occurrence!.id))();
      await clock.advance(HOUR_MS);
    }

    expect(new Set(ran).size).toBe(ran.length);
    expect(ran).toHaveLength(60);
  });

  test("ends with the time of the invocation", async () => {
    const ran: (string | undefined)[] = [];
    const gated = onlyAsLeader({ ...base(), catchUp }, async ({ occurrence }) => {
      ran.push(occurrence?.id.slice(19, 24));
      await clock.advance(30_000);
    });
    await gated().catch(() => undefined);

    expect(ran).toEqual(["10:00", "08:00"]);
  });

  test("is skipped if the delivered occurrence has taken all the time", async () => {
    const ran: (string | undefined)[] = [];
    const gated = onlyAsLeader({ ...base(), catchUp, shutdownMarginMs: 10_000 }, async ({ occurrence }) => {
      ran.push(occurrence?.id.slice(19, 24));
      await clock.advance(50_000);
    });
    await gated();

    expect(ran).toEqual(["10:00"]);
  });
});

describe("a store that is away", () => {
  const unavailable = (): StoreError =>
    new StoreError("STORE_UNAVAILABLE", "away", { store: "memory", operation: "put", mayHaveBeenApplied: false });

  test("for a moment after the work loses nothing: the record is written once the store is back", async () => {
    const occurrences = store.occurrences.bind(store);
    let failures = 5;
    store.occurrences = (election) => {
      const kept = occurrences(election);
      const complete = kept.complete.bind(kept);
      kept.complete = async (lease, limits) => {
        failures -= 1;
        if (failures >= 0) throw unavailable();
        return await complete(lease, limits);
      };
      return kept;
    };

    await expect(clock.runUntil(onlyAsLeader(base(), () => "worked")())).resolves.toBe("worked");
    expect(failures).toBe(-1);
    await expect(onlyAsLeader(base(), () => "again")()).resolves.toEqual({ elected: false, reason: "done" });
  });

  test("for longer than the invocation lasts fails in time, and the work is done again", async () => {
    const occurrences = store.occurrences.bind(store);
    store.occurrences = (election) => {
      const kept = occurrences(election);
      kept.complete = () => Promise.reject(unavailable());
      return kept;
    };
    const sinceMs = clock.monotonicMs();

    await expect(clock.runUntil(onlyAsLeader(base(), () => "worked")())).rejects.toMatchObject({ code: "NOT_RECORDED" });
    expect(clock.monotonicMs() - sinceMs).toBeLessThan(TIMEOUT_MS);
  });

  test("is not asked for every missed occurrence", async () => {
    let reads = 0;
    store.occurrences = () => {
      const away = new RecordOccurrenceStore(new MemoryRecordStore(clock), { clock });
      away.read = () => {
        reads += 1;
        return Promise.reject(unavailable());
      };
      return away;
    };
    const catchUp = { previous: (ms: number) => ms - HOUR_MS, atMost: 20, since: "2025-12-30T00:00:00Z" };

    await expect(clock.runUntil(onlyAsLeader({ ...base(), catchUp }, () => "ran")())).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
    });
    expect(reads).toBe(2);
  });
});

describe("options that cannot work", () => {
  test.each([
    ["no occurrence", { occurrence: undefined }],
    ["an occurrence that is no function", { occurrence: "tick" }],
    ["a retention shorter than redeliveries", { retentionMs: HOUR_MS }],
    ["catching up without a calendar", { catchUp: { atMost: 1, since: "2025-12-31T00:00:00Z" } }],
    ["looking back 101 times", { catchUp: { previous: (ms: number) => ms - 1, atMost: 101, since: "2025-12-31T00:00:00Z" } }],
    ["looking back 1.5 times", { catchUp: { previous: (ms: number) => ms - 1, atMost: 1.5, since: "2025-12-31T00:00:00Z" } }],
    ["looking back 0 times", { catchUp: { previous: (ms: number) => ms - 1, atMost: 0, since: "2025-12-31T00:00:00Z" } }],
    ["catching up since nobody knows when", { catchUp: { previous: (ms: number) => ms - 1, atMost: 1, since: "yesterday" } }],
  ])("%s is refused when the function is loaded", (_, options) => {
    expect(() => onlyAsLeader({ ...base(), ...(options as object) }, () => "ran")).toThrow(ConfigurationError);
  });

  test("a store that keeps no occurrences is refused", () => {
    const plain = new RecordLeaseStore(new MemoryRecordStore());
    expect(() => onlyAsLeader({ ...base(), store: plain }, () => "ran")).toThrow(UnsupportedError);
  });

  test.each([
    ["a time that is none", { name: "nightly", scheduledMs: Number.NaN }],
    ["no name", { name: "", scheduledMs: TEN }],
    ["a name too long", { name: "n".repeat(255), scheduledMs: TEN }],
    ["a time of which it may be forgotten whether it is done", { name: "nightly", scheduledMs: TEN - 7 * 24 * HOUR_MS }],
    ["a time that is yet to come", { name: "nightly", scheduledMs: TEN + 24 * HOUR_MS }],
    ["a calendar that does not go back", undefined],
  ])("%s is an error before any request", async (_, occurrence) => {
    const bad = occurrence
      ? { occurrence: () => occurrence, catchUp: { previous: () => expect.fail(), atMost: 1, since: "2025-12-31T00:00:00Z" } }
      : { catchUp: { previous: (ms: number) => ms, atMost: 1, since: "2025-12-31T00:00:00Z" } };
    let ran = false;
    const gated = onlyAsLeader({ ...base(), ...bad }, () => {
      ran = true;
    });

    await expect(gated()).rejects.toThrow(ConfigurationError);
    expect(ran).toBe(false);
  });
});
