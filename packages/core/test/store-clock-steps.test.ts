import { ConfigurationError, Elector, type HeldLeadership } from "@leasehold/core";
import { MemoryRecordStore, RecordLeaseStore } from "@leasehold/core/provider";
import {
  ProcessClock,
  promptNetwork,
  SimulatedRecordService,
  VirtualClock,
  type Passage,
  type ProcessClockOptions,
} from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

const STORE_CLOCK = { toleranceMs: 100, exact: false, mayStep: true } as const;
/** By a clock that is this far ahead, a live leader's lease looks expired. */
const AHEAD_MS = LEASE_MS + 1_000;
const HOUR_MS = 3_600_000;
/** The time that a request and its reply take together. */
const ROUND_TRIP_MS = 2;

let world: VirtualClock;
let service: SimulatedRecordService;

beforeEach(() => {
  world = new VirtualClock();
  service = new SimulatedRecordService(world, { storeClock: STORE_CLOCK });
});

interface Process {
  readonly clock: ProcessClock;
  readonly store: RecordLeaseStore;
}

/** Starts one more process, which has no memory yet. */
function started(options?: ProcessClockOptions): Process {
  const clock = new ProcessClock(world, options);
  return { clock, store: new RecordLeaseStore(service.connect(clock, promptNetwork(ROUND_TRIP_MS / 2)), { clock }) };
}

/** Starts a leader, and waits a second after its acquisition. */
async function leader(process = started()): Promise<HeldLeadership> {
  const elector = new Elector({ ...process, election: ELECTION, candidateId: "leader" });
  const leadership = await world.runUntil(elector.campaign());
  await world.advance(1_000);
  return leadership;
}

/** Reports whether a process without a memory, which uses the store's clock, is elected at once. */
async function isElectedCold(process = started()): Promise<boolean> {
  const elector = new Elector({ ...process, election: ELECTION, candidateId: "cold" });
  return (await world.runUntil(elector.tryRun(() => undefined))).elected;
}

async function coldState({ store } = started()): Promise<string | undefined> {
  return (await world.runUntil(store.read(ELECTION, { expiry: "store-clock" })))?.state;
}

describe("a process without a memory, on a store whose clock may step", () => {
  test("takes over once the lease has expired, and never before", async () => {
    await world.runUntil(win(started().store, { candidateId: "gone" }));

    // The server wrote a millisecond before the winner knew. It reads a millisecond after the request is sent.
    await world.advance(LEASE_MS - ROUND_TRIP_MS - 1);
    expect(await coldState()).toBe("unknown");
    expect(await isElectedCold()).toBe(true);
  });

  test.each([AHEAD_MS, HOUR_MS, -HOUR_MS])("leaves a leader alone after that clock was set by %d ms", async (byMs) => {
    const leadership = await leader();
    service.stepClock(byMs);

    expect(await isElectedCold()).toBe(false);
    expect(leadership.isValid()).toBe(true);
  });

  test("leaves a leader alone after a failover to a server whose clock is ahead", async () => {
    const leadership = await leader();
    service.failOver(AHEAD_MS);

    expect(await isElectedCold()).toBe(false);
    expect(leadership.isValid()).toBe(true);
  });

  test("takes over as soon if the holder's only write was under way for longer than a renewal interval", async () => {
    const { clock } = started();
    const network = (): Passage => ({ arrivals: [{ afterMs: 6_000, replyAfterMs: 1 }] });
    const store = new RecordLeaseStore(service.connect(clock, network), { clock });
    await world.runUntil(win(store, { candidateId: "gone", timeoutMs: 30_000 }));
    await world.advance(LEASE_MS);

    expect(await isElectedCold()).toBe(true);
  });

  test("takes over a lease whose write was under way for its whole duration, once the store's clock agrees", async () => {
    const { clock } = started();
    const network = (): Passage => ({ arrivals: [{ afterMs: LEASE_MS, replyAfterMs: 1 }] });
    const store = new RecordLeaseStore(service.connect(clock, network), { clock });
    await world.runUntil(win(store, { candidateId: "gone", timeoutMs: 60_000 }));
    expect(await isElectedCold()).toBe(false);
    service.stepClock(LEASE_MS);

    // The record has only just reached the store. But its holder counts from before the send, and leads no more.
    expect(await isElectedCold()).toBe(true);
  });

  test("waits a whole lease by its own clock if clocks contradict each other, and then takes over", async () => {
    await world.runUntil(win(started().store, { candidateId: "gone" }));
    service.stepClock(AHEAD_MS);
    const watcher = started();

    expect(await coldState(watcher)).toBe("unknown");
    await world.advance(LEASE_MS - ROUND_TRIP_MS - 1);
    expect(await coldState(watcher)).toBe("unknown");
    expect(await coldState(watcher)).toBe("expired");
  });

  test("uses the store's clock again once the nonce was written after the step", async () => {
    const holder = started();
    const lease = await world.runUntil(win(holder.store));
    service.stepClock(AHEAD_MS);
    const watcher = started();
    expect(await coldState(watcher)).toBe("unknown");
    await world.runUntil(holder.store.renew(lease, LIMITS));
    await world.advance(LEASE_MS);

    expect(await coldState(watcher)).toBe("expired");
  });

  test("does not learn the age from an administrator's write after a failover", async () => {
    await leader();
    service.failOver(AHEAD_MS);
    await world.runUntil(started().store.break(ELECTION, { reason: "maintenance" }));

    expect(await coldState()).toBe("unknown");
  });
});

describe("a lease whose age is unknown to every process", () => {
  const LOST: ReadonlyArray<readonly [when: string, gone: ProcessClockOptions, lose: () => void]> = [
    ["after a failover", {}, () => service.failOver(-AHEAD_MS)],
    ["after the store's clock was set forward", {}, () => service.stepClock(AHEAD_MS)],
    ["after the store's clock was set back", {}, () => service.stepClock(-HOUR_MS)],
    ["whose holder's wall clock was ahead", { wallOffsetMs: HOUR_MS }, () => undefined],
    ["whose holder's wall clock was ahead, after a failover", { wallOffsetMs: HOUR_MS }, () => service.failOver(0)],
  ];

  test.each(LOST)("is taken over by cold processes, %s", async (_, gone, lose) => {
    await world.runUntil(win(started(gone).store, { candidateId: "gone" }));
    lose();
    await world.advance(LEASE_MS);

    // Its age counts from the first attempt that finds it this old.
    expect(await isElectedCold()).toBe(false);
    await world.advance(LEASE_MS - 10);
    expect(await isElectedCold()).toBe(false);
    await world.advance(10);
    expect(await isElectedCold()).toBe(true);
  });

  test("is taken over by processes whose wall clocks all differ", async () => {
    await world.runUntil(win(started({ wallOffsetMs: 3_000 }).store, { candidateId: "gone" }));
    await world.advance(LEASE_MS);
    expect(await isElectedCold(started({ wallOffsetMs: 2_000 }))).toBe(false);
    await world.advance(LEASE_MS);
    expect(await isElectedCold(started({ wallOffsetMs: -2_000 }))).toBe(false);
    await world.advance(LEASE_MS);

    expect(await isElectedCold(started({ wallOffsetMs: -1_000 }))).toBe(true);
  });

  test("is taken over by the same process, too, even if it has observed clocks contradict each other", async () => {
    await world.runUntil(win(started().store, { candidateId: "gone" }));
    service.stepClock(AHEAD_MS);
    await world.advance(LEASE_MS);
    const process = started();
    expect(await isElectedCold(process)).toBe(false);
    // Its monotonic clock stands still between two invocations.
    process.clock.suspend();
    await world.advance(LEASE_MS);
    process.clock.resume();

    expect(await isElectedCold(process)).toBe(true);
  });

  test("becomes free in the end, even if it was held after its release", async () => {
    const { store } = started();
    const lease = await world.runUntil(win(store, { candidateId: "gone" }));
    await world.runUntil(store.release(lease, { ...LIMITS, holdMs: 60_000 }));
    service.failOver(0);
    await world.advance(60_000);
    expect(await isElectedCold()).toBe(false);
    await world.advance(60_000);

    expect(await isElectedCold()).toBe(true);
  });

  test("stays with its holder, which can renew it", async () => {
    const holder = started();
    const lease = await world.runUntil(win(holder.store));
    service.failOver(AHEAD_MS);
    await world.advance(LEASE_MS);
    expect(await isElectedCold()).toBe(false);

    await expect(world.runUntil(holder.store.renew(lease, LIMITS))).resolves.toMatchObject({ held: true });
    expect(await isElectedCold()).toBe(false);
  });

  test("is polled by a standby, which leads soon after its release", async () => {
    const leadership = await leader(started({ wallOffsetMs: HOUR_MS }));
    const elector = new Elector({ ...started(), election: ELECTION, candidateId: "standby", expiry: "store-clock" });
    const stopping = new AbortController();
    void elector.run(untilAborted, { signal: stopping.signal });
    const { retryPeriodMs, politeHandoverMs } = elector.timing;
    await world.advance(retryPeriodMs);
    service.failOver(0);
    await world.advance(retryPeriodMs);
    await world.runUntil(leadership.release());
    await world.advance(politeHandoverMs);
    expect(elector.isLeader).toBe(true);
    stopping.abort();
  });

  test("is not written while it is held, even if its reservation is over", async () => {
    const holder = started({ wallOffsetMs: HOUR_MS });
    await world.runUntil(win(holder.store, { reservation: { group: "east", durationMs: 4_000 } }));
    let writes = 0;
    service.onAccepted = () => {
      writes += 1;
    };
    await world.advance(LEASE_MS - 100);
    expect(await isElectedCold()).toBe(false);
    expect(writes).toBe(0);

    await world.advance(100);
    expect(await isElectedCold()).toBe(false);
    expect(writes).toBe(1);
  });

  test("is not written by readers, or while any clock shows it younger than its duration", async () => {
    await world.runUntil(win(started().store, { candidateId: "gone" }));
    let writes = 0;
    service.onAccepted = () => {
      writes += 1;
    };
    service.failOver(AHEAD_MS);
    await world.advance(LEASE_MS - 100);
    expect(await isElectedCold()).toBe(false);
    await world.advance(100);
    expect(await coldState()).toBe("unknown");
    expect(await isElectedCold(started({ wallOffsetMs: -1_000 }))).toBe(false);
    expect(writes).toBe(0);

    expect(await isElectedCold()).toBe(false);
    expect(await isElectedCold()).toBe(false);
    expect(writes).toBe(1);
  });
});

describe("the shortest lease", () => {
  test("has a margin that covers the possible error of the store's clock", () => {
    const { store } = started();

    expect(store.capabilities.minLeaseMs).toBe(1_000);
    expect(() => new Elector({ store, election: ELECTION, leaseDurationMs: 1_000 })).not.toThrow();
    const tooShort = (): unknown => new Elector({ store, election: ELECTION, leaseDurationMs: 999 });
    expect(tooShort).toThrow(ConfigurationError);
    expect(tooShort).toThrow(/leaseDurationMs is 999; this store takes 1000 to \d+\. Its clock may be off by 100 ms/);
  });

  test("is a millisecond if the clock does not step or has no error, even if it finds an expiry late", () => {
    const records = new MemoryRecordStore();
    const [coarse, exact] = [
      { toleranceMs: 4_000, exact: false },
      { toleranceMs: 0, exact: true },
    ];
    for (const storeClock of [undefined, coarse, exact, { ...exact, mayStep: true }]) {
      const store = new RecordLeaseStore(Object.assign(records, { capabilities: { ...records.capabilities, storeClock } }));
      expect(store.capabilities.minLeaseMs).toBe(1);
    }
  });
});
