import { ConfigurationError, Elector, MemoryRecordStore, RecordLeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS } from "./election-world.ts";

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
  test("keeps everybody out until so long after the acquisition, although the task was quick", async () => {
    await candidate(HOLD_MS).tryRun(() => clock.advance(2_000));
    await clock.advance(HOLD_MS - 2_001);

    await expect(candidate().tryRun(() => "twin")).resolves.toEqual({ elected: false });
    await clock.advance(1);
    await expect(candidate().tryRun(() => "next")).resolves.toMatchObject({ elected: true, term: 2, result: "next" });
  });

  test("closes the fence at the release all the same", async () => {
    await candidate(HOLD_MS).tryRun(() => "quick");

    expect((await records.get(ELECTION))?.data).toMatchObject({ term: 1, termId: null, holdMs: HOLD_MS });
  });

  test("adds nothing to a task that takes longer", async () => {
    await candidate(HOLD_MS).tryRun(() => clock.advance(HOLD_MS));

    expect((await records.get(ELECTION))?.data).not.toHaveProperty("holdMs");
    await expect(candidate().tryRun(() => "next")).resolves.toMatchObject({ elected: true });
  });

  test("applies after a task that threw, too", async () => {
    await expect(candidate(HOLD_MS).tryRun(() => Promise.reject(new Error("disk full")))).rejects.toThrow("disk full");

    await expect(candidate().tryRun(() => "twin")).resolves.toEqual({ elected: false });
  });

  test("is not carried over to the next term", async () => {
    await candidate(HOLD_MS).tryRun(() => "quick");
    await clock.advance(HOLD_MS);
    await candidate().tryRun(() => "quick");

    await expect(candidate().tryRun(() => "next")).resolves.toMatchObject({ elected: true, term: 3 });
  });

  test.each([-1, Number.NaN, LEASE_MS + 1])("%s is refused", (minimumHoldMs) => {
    expect(() => candidate(minimumHoldMs)).toThrow(ConfigurationError);
  });
});
