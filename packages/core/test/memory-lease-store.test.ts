import { MemoryLeaseStore } from "@leasehold/core";
import { MemoryRecordStore, sleep, type LeaseRecord } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";

let clock: VirtualClock;
beforeEach(() => {
  clock = new VirtualClock();
});

describe("MemoryRecordStore", () => {
  const record: LeaseRecord = {
    schema: 3,
    term: 1,
    termId: "t",
    candidateId: "a",
    nonce: "n1",
    leaseDurationMs: 10,
    renewIntervalMs: 3,
  };
  const { signal } = new AbortController();

  test("returns the age of the nonce, which other writes do not change", async () => {
    const records = new MemoryRecordStore(clock);
    await records.put("e", record, { ifVersion: undefined, keepsNonce: false, signal });
    clock.freeze(100);
    await records.put("e", { ...record, broken: { reason: "x", id: "order" } }, { ifVersion: "1", keepsNonce: true, signal });
    clock.freeze(100);
    expect((await records.get("e"))?.nonceAgeMs).toEqual([200, 200]);

    await records.put("e", { ...record, nonce: "n2" }, { ifVersion: "2", keepsNonce: false, signal });
    expect((await records.get("e"))?.nonceAgeMs).toEqual([0, 0]);
  });

  test("keeps a record as it was written, even if the writer changes its object later", async () => {
    const records = new MemoryRecordStore(clock);
    const mine = { ...record };
    await records.put("e", mine, { ifVersion: undefined, keepsNonce: false, signal });

    mine.term = 99;

    expect((await records.get("e"))?.data).toEqual(record);
  });
});

describe("MemoryLeaseStore", () => {
  test("states what it can do", () => {
    expect(new MemoryLeaseStore({ clock }).capabilities).toEqual({
      expiry: "observed",
      watch: "push",
      minLeaseMs: 1,
      maxLeaseMs: 2_147_483_647,
      leaseGranularityMs: 1,
      maxValueBytes: 65_536,
      fence: "none",
      transfer: { drain: "full" },
      repair: true,
      pause: true,
      list: true,
      fleet: true,
      storeClock: { toleranceMs: 0, exact: true },
      reservation: { toleranceMs: 0 },
    });
  });

  test("a watch wakes a reader that is slow once for all changes meanwhile, and never too early for the last one", async () => {
    const store = new MemoryLeaseStore({ clock });
    const states: Array<string | undefined> = [];
    const watching = (async () => {
      for await (const _ of store.watch!(ELECTION, new AbortController())) {
        states.push((await store.read(ELECTION))?.state);
        await sleep(clock, 1_000);
        if (states.at(-1) === "vacant") break;
      }
    })();
    await clock.settle();

    const lease = await win(store);
    await store.renew(lease, LIMITS);
    await store.release(lease, LIMITS);
    await clock.runUntil(watching);

    expect(states).toEqual([undefined, "vacant"]);
  });
});
