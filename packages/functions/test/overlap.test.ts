import { MemoryLeaseStore, type Leadership } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import type { Overlap } from "@leasehold/core/occurrences";
import { VirtualClock } from "@leasehold/core/testing";
import { onlyAsLeader, type Occurrence } from "@leasehold/functions";
import { beforeEach, describe, expect, test } from "vitest";

const TEN = Date.parse("2025-12-31T10:00:00Z");
const HOUR_MS = 3_600_000;
const ELECTION = "nightly-billing";

let clock: VirtualClock;
let store: MemoryLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
});

function hour(overlap: Overlap, hours: number) {
  const occurrence = (): Occurrence => ({ name: "nightly", scheduledMs: TEN + hours * HOUR_MS });
  return {
    gate: "oncePerTick",
    store,
    election: ELECTION,
    remainingMs: 300_000,
    clock,
    overlap,
    occurrence,
    logger: false,
  } as const;
}

describe("overlap of the gate oncePerTick", () => {
  test("'bufferOne' runs after the end of the other one, and skips a third", async () => {
    const ten = onlyAsLeader(hour("bufferOne", 0), () => sleep(clock, 60_000))();
    await clock.advance(1_000);
    const eleven = onlyAsLeader(hour("bufferOne", 1), () => "eleven")();
    await clock.advance(1_000);
    const twelve = onlyAsLeader(hour("bufferOne", 2), () => "twelve")();

    await expect(clock.runUntil(twelve)).resolves.toEqual({ elected: false, reason: "overlap" });
    await clock.runUntil(ten);
    const again = onlyAsLeader(hour("bufferOne", 2), () => "twelve")();
    await expect(clock.runUntil(again)).resolves.toEqual({ elected: false, reason: "overlap" });
    await expect(clock.runUntil(eleven)).resolves.toBe("eleven");
  });

  test("'bufferOne' fails if the invocation's time ends during the wait, so that the platform delivers again", async () => {
    const ten = onlyAsLeader(hour("bufferOne", 0), () => sleep(clock, 200_000))();
    await clock.advance(1_000);
    const eleven = onlyAsLeader({ ...hour("bufferOne", 1), remainingMs: 60_000 }, () => "eleven");

    await expect(clock.runUntil(eleven())).rejects.toMatchObject({ code: "LEADERSHIP_ENDED" });
    await clock.runUntil(ten);
    await expect(clock.runUntil(eleven())).resolves.toBe("eleven");
  });

  test("a handler is told when another invocation runs, and its fence is that of the election", async () => {
    const fence = ({ election, term }: Leadership): string => `${election} ${term}`;
    const fenced = Object.assign(store, { fence });
    const ten = onlyAsLeader({ ...hour("skip", 0), store: fenced }, async (leadership) => {
      const before = [leadership.isValid(), leadership.fence()];
      await sleep(clock, 200_000);
      return [...before, leadership.isValid()];
    })();
    await clock.advance(500);
    const term = (await store.read(ELECTION))?.term;
    await clock.runUntil(store.break(ELECTION, { reason: "stuck", ifTerm: term, immediate: true }));
    const eleven = onlyAsLeader({ ...hour("skip", 1), store: fenced }, (leadership) => leadership.fence());

    await expect(clock.runUntil(eleven())).resolves.toBe(`${ELECTION} 2`);
    await expect(clock.runUntil(ten)).resolves.toEqual([true, `${ELECTION} 1`, false]);
  });

  test("with tries a handler is tried again, then its occurrence has failed, and pauseOnFailure pauses the election", async () => {
    let count = 0;
    const failing = onlyAsLeader({ ...hour("skip", 0), tries: 3, backoffMs: 500, pauseOnFailure: true }, () => {
      count += 1;
      throw new Error("disk full");
    });

    await expect(clock.runUntil(failing())).rejects.toThrow("disk full");
    expect(count).toBe(3);
    await expect(clock.runUntil(failing())).resolves.toEqual({ elected: false, reason: "failed", failure: "Error" });
    const next = onlyAsLeader(hour("skip", 1), () => "eleven");
    await expect(clock.runUntil(next())).resolves.toEqual({ elected: false, reason: "paused" });
    expect(() => onlyAsLeader({ ...hour("skip", 2), tries: 0 }, () => 0)).toThrow("tries is 0");
  });

  test("the lease of the schedule is one that the store of elections takes", async () => {
    const shortLeases = { ...store.capabilities, maxLeaseMs: 60_000, leaseGranularityMs: 1_000 };
    const limited = Object.assign(store, { capabilities: shortLeases });
    const ten = onlyAsLeader({ ...hour("skip", 0), store: limited, remainingMs: 300_123 }, () => sleep(clock, 200_000));
    await expect(clock.runUntil(ten())).resolves.toBeUndefined();

    const long = { ...hour("skip", 1), store: limited, leaseDurationMs: 90_000 };
    expect(() => onlyAsLeader(long, () => 0)).toThrow(/^leaseDurationMs is 90000/);
    expect(() => onlyAsLeader({ ...long, overlap: "allowAll" }, () => 0)).not.toThrow();
  });

  test("an unknown policy is refused when the function is loaded, and the option at other gates", () => {
    expect(() => onlyAsLeader(hour("queue" as Overlap, 0), () => 0)).toThrow('overlap is "queue"');
    const other = { store, election: ELECTION, remainingMs: 60_000, overlap: "skip" } as never;
    expect(() => onlyAsLeader(other, () => 0)).toThrow("overlap is an option of the gate 'oncePerTick'");
  });
});
