import { ConfigurationError, Elector } from "@leasehold/core";
import { MemoryRecordStore, RecordLeaseStore } from "@leasehold/core/provider";
import { ProcessClock, SimulatedRecordService, VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { RecordService } from "./faulty-record-store.ts";

const HOLD_MS = 10_000;

let clock: VirtualClock;
let records: MemoryRecordStore;

beforeEach(() => {
  clock = new VirtualClock();
  records = new MemoryRecordStore(clock);
});

function candidate(minimumHoldMs?: number): Elector {
  const store = new RecordLeaseStore(records, { clock });
  return new Elector({ store, election: ELECTION, minimumHoldMs, clock });
}

describe("minimumHoldMs", () => {
  test("blocks every candidate for the hold after the acquisition, even if the task was quick", async () => {
    await candidate(HOLD_MS).tryRun(() => clock.advance(2_000));
    await clock.advance(HOLD_MS - 2_001);

    await expect(candidate().tryRun(() => "twin")).resolves.toEqual({ elected: false, reason: "held-back" });
    await clock.advance(1);
    await expect(candidate().tryRun(() => "next")).resolves.toMatchObject({ elected: true, term: 2, result: "next" });
  });

  test("closes the fence at the release all the same", async () => {
    await candidate(HOLD_MS).tryRun(() => "quick");

    expect((await records.get(ELECTION))?.data).toMatchObject({
      term: 1,
      termId: null,
      bars: [{ untilMs: HOLD_MS, except: null }],
    });
  });

  test("adds nothing to a task that takes longer", async () => {
    await candidate(HOLD_MS).tryRun(() => clock.advance(HOLD_MS));
    await candidate(0).tryRun(() => "quick");

    expect((await records.get(ELECTION))?.data).not.toHaveProperty("bars");
    await expect(candidate().tryRun(() => "next")).resolves.toMatchObject({ elected: true });
  });

  test("ends with a task that threw, so that the task may be tried again", async () => {
    await expect(candidate(HOLD_MS).tryRun(() => Promise.reject(new Error("disk full")))).rejects.toThrow("disk full");

    await expect(candidate().tryRun(() => "again")).resolves.toMatchObject({ elected: true, result: "again" });
  });

  test("also blocks the process that released, while the release is under way and after it has failed", async () => {
    const service = new RecordService(clock);
    const connection = service.connect("a");
    const store = new RecordLeaseStore(connection, { clock });
    const twin = (): Promise<unknown> => new Elector({ store, election: ELECTION, clock }).tryRun(() => "twin");
    const first = new Elector({ store, election: ELECTION, minimumHoldMs: HOLD_MS, clock });
    connection.failNext("put", { kind: "slow", latencyMs: 0 }, { kind: "lost" }, { kind: "lost" });
    const releasing = first.tryRun(() => "quick");
    await clock.advance(100);
    await expect(twin()).resolves.toEqual({ elected: false, reason: "held-back" });
    await clock.runUntil(releasing);

    await expect(twin()).resolves.toEqual({ elected: false, reason: "held-back" });
    await clock.advance(HOLD_MS);
    await expect(twin()).resolves.toMatchObject({ elected: true });
  });

  test("ends for a process that observed the release, by a store clock that needs two reads", async () => {
    const service = new SimulatedRecordService(clock, { storeClock: { toleranceMs: 100, exact: false } });
    const stores = [1, 2, 3].map(() => new RecordLeaseStore(service.connect(new ProcessClock(clock)), { clock }));
    let ran = 0;
    for (let tick = 0; tick < 12; tick += 1) {
      const store = stores[tick % stores.length]!;
      const elector = new Elector({ store, election: ELECTION, leaseDurationMs: 900_000, minimumHoldMs: 30_000, clock });
      const outcome = await clock.runUntil(elector.tryRun(() => "ran"));
      ran += outcome.elected ? 1 : 0;
      await clock.advance(60_000);
    }

    expect(ran).toBe(12);
  });

  test.each([-1, Number.NaN, LEASE_MS + 1])("%s is refused", (minimumHoldMs) => {
    expect(() => candidate(minimumHoldMs)).toThrow(ConfigurationError);
  });

  test("may be the whole lease, or a millisecond", async () => {
    expect(() => candidate(LEASE_MS)).not.toThrow();
    await candidate(1).tryRun(() => "quick");
    expect((await records.get(ELECTION))?.data).toMatchObject({ bars: [{ untilMs: 1, except: null }] });
  });
});
