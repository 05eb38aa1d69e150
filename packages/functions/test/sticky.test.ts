import { ConfigurationError, MemoryLeaseStore, UnsupportedError, type LeaseStore } from "@leasehold/core";
import { MemoryRecordStore, RecordLeaseStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { onlyAsLeader, type StickyOptions } from "@leasehold/functions";
import { beforeEach, describe, expect, test } from "vitest";
import { reservationOf } from "../src/option-checks.ts";

const ELECTION = "exchange-rates";
const PERIOD_MS = 60_000;

let clock: VirtualClock;
let records: MemoryRecordStore;

beforeEach(() => {
  clock = new VirtualClock();
  records = new MemoryRecordStore(clock);
});

/** A delivery to a group's function, on an instance that has just started. */
async function deliver(group: string, overrides: Partial<StickyOptions<[], LeaseStore, string>> = {}): Promise<string> {
  const store = new RecordLeaseStore(records, { clock });
  const gated = onlyAsLeader(
    {
      gate: "sticky",
      store,
      election: ELECTION,
      group,
      periodMs: PERIOD_MS,
      remainingMs: 10_000,
      clock,
      onStandby: () => "standby",
      ...overrides,
    },
    () => `${group} ran`,
  );
  return await gated();
}

/** Advances to the same second of the next tick. */
async function nextTick(): Promise<void> {
  await clock.advance(PERIOD_MS);
}

describe("sticky", () => {
  test("keeps the group that led first as leader, tick after tick, even if another comes earlier", async () => {
    await expect(deliver("west")).resolves.toBe("west ran");
    for (let tick = 0; tick < 5; tick += 1) {
      await clock.advance(PERIOD_MS - 20_000);
      await expect(deliver("east")).resolves.toBe("standby");
      await clock.advance(20_000);
      await expect(deliver("west")).resolves.toBe("west ran");
    }
  });

  test("changes the group once the leading one has missed its ticks, and not before", async () => {
    await deliver("west");
    await nextTick();
    await expect(deliver("east")).resolves.toBe("standby");
    await nextTick();
    // The second tick counts as missed only after its time is over.
    await expect(deliver("east")).resolves.toBe("standby");
    await nextTick();
    await expect(deliver("east")).resolves.toBe("east ran");
  });

  test("does not count a late tick as missed", async () => {
    await deliver("west");
    await clock.advance(PERIOD_MS + 25_000);
    await expect(deliver("east", { missedTicks: 1 })).resolves.toBe("standby");
    await expect(deliver("west", { missedTicks: 1 })).resolves.toBe("west ran");
  });
});

describe("options that cannot work", () => {
  const store = new MemoryLeaseStore();
  const good = { gate: "sticky", store, election: ELECTION, group: "west", periodMs: PERIOD_MS, remainingMs: 10_000 } as const;

  test.each([
    ["no group", { ...good, group: "" }],
    ["no period", { ...good, periodMs: undefined }],
    ["a period of no time", { ...good, periodMs: 0 }],
    ["half a tick", { ...good, missedTicks: 0.5 }],
    ["no ticks", { ...good, missedTicks: 0 }],
  ])("%s is refused when the function is loaded", (_, options) => {
    expect(() => onlyAsLeader(options as typeof good, () => "ran")).toThrow(ConfigurationError);
  });

  test("each is refused by its own name, the period too", () => {
    const refusal = (options: object) => () => onlyAsLeader({ ...good, ...options }, () => "ran");
    expect(refusal({ group: "" })).toThrow("group is empty");
    expect(refusal({ periodMs: 0 })).toThrow("periodMs is 0");
    expect(refusal({ periodMs: "1h" })).toThrow('periodMs must be a number; it is the text "1h".');
    expect(refusal({ missedTicks: 0 })).toThrow("missedTicks is 0");
  });

  test("a group keeps the election for half a period longer than the ticks that it may miss", () => {
    expect(reservationOf({ group: "west", periodMs: 60_000 })).toEqual({ group: "west", durationMs: 150_000 });
    expect(reservationOf({ group: "west", periodMs: 60_000, missedTicks: 1 })).toEqual({ group: "west", durationMs: 90_000 });
  });

  test("a store without a clock is refused, because it cannot tell a missed tick", () => {
    const blind = new RecordLeaseStore(
      Object.assign(new MemoryRecordStore(), { capabilities: { maxValueBytes: 1, fence: "none", storeClock: undefined } }),
    );

    expect(() => onlyAsLeader({ ...good, store: blind }, () => "ran")).toThrow(UnsupportedError);
  });

  test("a store that enforces its leases but has no clock is refused too", () => {
    const native = new MemoryLeaseStore();
    const capabilities = { ...native.capabilities, expiry: "enforced" as const, storeClock: undefined, reservation: undefined };
    Object.assign(native, { capabilities });

    expect(() => onlyAsLeader({ ...good, store: native }, () => "ran")).toThrow("the gate 'sticky' needs one");
    expect(() => onlyAsLeader({ ...good, store: native }, () => "ran")).toThrow(UnsupportedError);
  });

  test("a period that is too short for the store's clock is refused, with the numbers", () => {
    const coarse = new RecordLeaseStore(
      Object.assign(new MemoryRecordStore(), {
        capabilities: { maxValueBytes: 1, fence: "none", storeClock: { toleranceMs: 4_000, exact: false } },
      }),
    );

    expect(() => onlyAsLeader({ ...good, store: coarse, periodMs: 8_000 }, () => "ran")).toThrow(
      "use a period of more than 8000 ms",
    );
    expect(() => onlyAsLeader({ ...good, store: coarse, periodMs: 8_001 }, () => "ran")).not.toThrow();
  });
});
