import { fc, test } from "@fast-check/vitest";
import { Elector } from "@leasehold/core";
import type { AcquireRequest, Lease } from "@leasehold/core/provider";
import { ProcessClock, promptNetwork, VirtualClock, type Network } from "@leasehold/core/testing";
import { beforeAll, describe, expect } from "vitest";
import { SimulatedService, warmUp, type Line } from "@leasehold/test-kit/simulated/dynamodb-service";
import { TOLERANCE_MS } from "../src/clock.ts";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";

const HOUR_MS = 3_600_000;
const PROMPT: Line = { network: promptNetwork(10), hostOffsetMs: () => 0 };

beforeAll(warmUp);

/** Runs a leader that renews several times and dies. Returns when it last sent a request that arrived. */
async function deadLeader(
  world: VirtualClock,
  service: SimulatedService,
  { process = new ProcessClock(world), line = PROMPT, request = {} as Partial<AcquireRequest>, renewals = 3 } = {},
): Promise<{ readonly lease: Lease; readonly lastSentMs: number }> {
  const store = service.store(process, line);
  const lease = await world.runUntil(win(store, { candidateId: "dead", ...request }));
  for (let renewal = 0; renewal < renewals; renewal += 1) {
    await world.advance(acquiring(request).renewIntervalMs);
    await world.runUntil(store.renew(lease, LIMITS));
  }
  process.kill();
  return { lease, lastSentMs: service.sentMs.get(service.item(ELECTION)?.["nonce"]?.S ?? "")! };
}

/** Returns when a cold caller got the lease, by the true time. One calls after each interval. */
async function coldTakeoverMs(
  world: VirtualClock,
  service: SimulatedService,
  { everyMs = 100, untilMs = 120_000, line = PROMPT, clockOf = () => new ProcessClock(world) } = {},
): Promise<number | undefined> {
  const deadlineMs = world.monotonicMs() + untilMs;
  while (world.monotonicMs() < deadlineMs) {
    const clock = clockOf();
    const elector = new Elector({ store: service.store(clock, line), election: ELECTION, candidateId: "cold", clock });
    const outcome = await world.runUntil(elector.tryRun(() => world.monotonicMs()));
    if (outcome.elected) return outcome.result;
    await world.advance(everyMs);
  }
  return undefined;
}

describe("a process that was started after the leader died", () => {
  const seeds = fc.integer({ min: 1, max: 2 ** 31 - 1 });
  const far = fc.integer({ min: -12 * HOUR_MS, max: 12 * HOUR_MS });
  const leases = fc.constantFrom(5_000, 15_000, 30_000, 60_000);
  /** An error of a synchronized wall clock: within half a second. */
  const right = fc.integer({ min: -500, max: 500 });
  const clock = fc.record({
    rate: fc.double({ min: 0.98, max: 1.02, noNaN: true }),
    wallRate: fc.constant(1),
    wallOffsetMs: right,
  });

  test.prop([seeds, clock, clock, fc.integer({ min: -HOUR_MS, max: HOUR_MS }), leases], { seed: 20_261_123, numRuns: 30 })(
    "takes over by tryRun after the lease has passed since the last send, at most the documented tolerance later",
    async (seed, holderSkew, callerSkew, serviceOffsetMs, leaseDurationMs) => {
      const world = new VirtualClock(seed);
      const service = new SimulatedService(world, serviceOffsetMs);
      const line = { network: within(world, 50), hostOffsetMs: () => 0 };
      const renewIntervalMs = leaseDurationMs / 3;
      const { lastSentMs } = await deadLeader(world, service, {
        process: new ProcessClock(world, holderSkew),
        line,
        request: { leaseDurationMs, renewIntervalMs },
      });
      const { toleranceMs } = service.store(new ProcessClock(world), line).capabilities.storeClock!;
      await world.advance(leaseDurationMs - 1_000);

      const tookOverMs = await coldTakeoverMs(world, service, { line, clockOf: () => new ProcessClock(world, callerSkew) });

      const afterMs = tookOverMs! - lastSentMs;
      expect(afterMs).toBeGreaterThanOrEqual(leaseDurationMs);
      // The last try adds the time between two tries, and its own requests.
      const driftMs = Math.max(renewIntervalMs - 10_000, 0) / 10;
      expect(afterMs).toBeLessThanOrEqual(leaseDurationMs + toleranceMs + driftMs + 100 + 500);
    },
  );

  test.prop([seeds, far, far, leases], { seed: 20_261_125, numRuns: 30 })(
    "never takes over too early if wall clocks are wrong, and later by as much as the caller's is behind the holder's",
    async (seed, holderMs, callerMs, leaseDurationMs) => {
      const world = new VirtualClock(seed);
      const service = new SimulatedService(world);
      const request = { leaseDurationMs, renewIntervalMs: leaseDurationMs / 3 };
      const process = new ProcessClock(world, { wallOffsetMs: holderMs });
      const { lastSentMs } = await deadLeader(world, service, { process, request });
      const laterMs = Math.max(holderMs - callerMs, 0);
      await world.advance(leaseDurationMs + laterMs - 1_000);

      const clockOf = (): ProcessClock => new ProcessClock(world, { wallOffsetMs: callerMs });
      const tookOverMs = await coldTakeoverMs(world, service, { clockOf });

      const { toleranceMs } = service.store(clockOf(), PROMPT).capabilities.storeClock!;
      const driftMs = Math.max(leaseDurationMs / 3 - 10_000, 0) / 10;
      expect(tookOverMs! - lastSentMs).toBeGreaterThanOrEqual(leaseDurationMs + laterMs);
      expect(tookOverMs! - lastSentMs).toBeLessThanOrEqual(leaseDurationMs + Math.max(laterMs, toleranceMs + driftMs) + 600);
    },
  );

  test.prop([seeds, far, far, leases], { seed: 20_261_126, numRuns: 30 })(
    "never takes over too early if proxies write dates of their own",
    async (seed, holderMs, callerMs, leaseDurationMs) => {
      const world = new VirtualClock(seed);
      const service = new SimulatedService(world);
      const lineOf = (offsetMs: number): Line => ({ network: within(world, 50), hostOffsetMs: () => offsetMs });
      const request = { leaseDurationMs, renewIntervalMs: leaseDurationMs / 3 };
      const { lastSentMs } = await deadLeader(world, service, { line: lineOf(holderMs), request });

      const takingOver = { line: lineOf(callerMs), untilMs: 2 * leaseDurationMs, everyMs: leaseDurationMs / 30 };
      const tookOverMs = (await coldTakeoverMs(world, service, takingOver)) ?? Infinity;

      expect(tookOverMs - lastSentMs).toBeGreaterThanOrEqual(leaseDurationMs);
    },
  );

  test.prop([fc.integer({ min: 1, max: 2 ** 31 - 1 }), fc.constantFrom(LEASE_MS, 40 * LEASE_MS)], {
    seed: 20_261_124,
    numRuns: 50,
  })(
    "never takes over too early if the service's machines disagree and clocks drift as much as assumed",
    async (seed, leaseDurationMs) => {
      const world = new VirtualClock(seed);
      const service = new SimulatedService(world);
      const rates = [1 / 1.1, 1, 1.1];
      const anyRate = (): number => rates[Math.floor(world.random() * rates.length)]!;
      const apart = world.random() < 0.5 ? TOLERANCE_MS / 2 : -TOLERANCE_MS / 2;
      const { lastSentMs } = await deadLeader(world, service, {
        process: new ProcessClock(world, { rate: anyRate() }),
        line: { network: within(world, 400), hostOffsetMs: () => apart },
        request: { leaseDurationMs, renewIntervalMs: leaseDurationMs / 3 },
        renewals: Math.floor(world.random() * 3),
      });
      const line = { network: within(world, 400), hostOffsetMs: () => -apart };
      await world.advance(leaseDurationMs * 0.9);

      const rate = anyRate();
      const tookOverMs = await coldTakeoverMs(world, service, {
        line,
        everyMs: leaseDurationMs / 300,
        untilMs: leaseDurationMs,
        clockOf: () => new ProcessClock(world, { rate }),
      });

      expect(tookOverMs! - lastSentMs).toBeGreaterThanOrEqual(leaseDurationMs);
    },
  );

  test("counts from when the holder requested the time that it wrote, even if the answer was late", async () => {
    const world = new VirtualClock();
    const service = new SimulatedService(world);
    const slowReplies: Line = { network: () => ({ arrivals: [{ afterMs: 10, replyAfterMs: 4_000 }] }), hostOffsetMs: () => 0 };
    const request = { timeoutMs: 60_000 };
    const { lastSentMs } = await deadLeader(world, service, { line: slowReplies, request, renewals: 0 });

    const tookOverMs = await coldTakeoverMs(world, service, { everyMs: 50 });

    expect(tookOverMs! - lastSentMs).toBeGreaterThanOrEqual(LEASE_MS);
  });

  test("counts a dead leader's lease from its own times, also after an administrator's write", async () => {
    const world = new VirtualClock();
    const service = new SimulatedService(world);
    await deadLeader(world, service);
    const stamps = (): unknown => [service.item(ELECTION)?.["nonceNotBefore"], service.item(ELECTION)?.["nonceNotAfter"]];
    const before = stamps();
    await world.advance(LEASE_MS - 1_000);
    const admin = service.store(new ProcessClock(world), PROMPT);
    await world.runUntil(admin.break(ELECTION, { reason: "test" }));
    expect(stamps()).toEqual(before);

    await world.advance(6_000);
    const look = service.store(new ProcessClock(world), PROMPT).read(ELECTION, { expiry: "store-clock" });
    await expect(world.runUntil(look)).resolves.toMatchObject({ state: "expired" });
  });

  test("counts an item without times from the first read by a process that needs its age", async () => {
    const world = new VirtualClock();
    const service = new SimulatedService(world);
    await deadLeader(world, service);
    const { nonceNotBefore: _, nonceNotAfter: __, ...item } = service.item(ELECTION)!;
    service.setItem(ELECTION, item);

    const foundMs = world.monotonicMs();
    const tookOverMs = await coldTakeoverMs(world, service, { untilMs: HOUR_MS, everyMs: 500 });

    expect(tookOverMs! - foundMs).toBeGreaterThanOrEqual(LEASE_MS);
    expect(tookOverMs! - foundMs).toBeLessThan(LEASE_MS + 6_000);
  });

  test.each([
    ["one stamp alone", { nonceNotAfter: undefined }],
    ["a stamp that is no number", { nonceNotBefore: { S: "0" } }],
    ["no wall clock", { nonceWallMs: undefined }],
  ])("so is an item with %s", async (_, change) => {
    const world = new VirtualClock();
    const service = new SimulatedService(world);
    await deadLeader(world, service);
    const item = Object.fromEntries(
      Object.entries({ ...service.item(ELECTION)!, ...change }).filter(([, value]) => value !== undefined),
    );
    service.setItem(ELECTION, item as never);

    const foundMs = world.monotonicMs();
    const tookOverMs = await coldTakeoverMs(world, service, { untilMs: HOUR_MS, everyMs: 500 });

    expect(tookOverMs! - foundMs).toBeGreaterThanOrEqual(LEASE_MS);
  });
});

describe("a clock of the service that steps", () => {
  test.each([60_000, 5_000])("back by %d ms: a takeover is never early, and happens as without a clock", async (stepMs) => {
    const world = new VirtualClock();
    const service = new SimulatedService(world);
    const { lastSentMs } = await deadLeader(world, service);
    service.step(-stepMs);

    const tookOverMs = await coldTakeoverMs(world, service, { everyMs: 500 });

    // Once the service's clock shows that time again.
    expect(tookOverMs! - lastSentMs).toBeGreaterThanOrEqual(LEASE_MS + stepMs);
  });

  test("forward between a caller's two reads: neither reply is believed", async () => {
    const world = new VirtualClock();
    const service = new SimulatedService(world);
    await deadLeader(world, service);
    const store = service.store(new ProcessClock(world), PROMPT);
    const reading = store.read(ELECTION, { expiry: "store-clock" });
    await world.advance(15);
    service.step(HOUR_MS);
    await expect(world.runUntil(reading)).resolves.toMatchObject({ state: "unknown" });
  });

  test.each([8_000, HOUR_MS])("forward by %d ms before a caller's read: a takeover is never early", async (stepMs) => {
    const world = new VirtualClock();
    const service = new SimulatedService(world);
    const { lastSentMs } = await deadLeader(world, service);
    service.step(stepMs);

    const tookOverMs = await coldTakeoverMs(world, service, { everyMs: 100 });

    expect(tookOverMs! - lastSentMs).toBeGreaterThanOrEqual(LEASE_MS);
  });

  test.each([HOUR_MS, -HOUR_MS])("by %d ms under a leader: its second renewal after that has the new time", async (stepMs) => {
    const world = new VirtualClock();
    const service = new SimulatedService(world);
    const store = service.store(new ProcessClock(world), PROMPT);
    const lease = await world.runUntil(win(store));
    service.step(stepMs);
    const stamped = async (): Promise<boolean> => {
      await world.advance(LEASE_MS / 3);
      await world.runUntil(store.renew(lease, LIMITS));
      const [lo, hi] = ["nonceNotBefore", "nonceNotAfter"].map((name) => Number(service.item(ELECTION)?.[name]?.N));
      return lo! <= service.nowMs() && service.nowMs() <= hi! + 100;
    };

    expect([await stamped(), await stamped()]).toEqual([false, true]);
  });
});

/** A network in which requests and replies each take up to `mostMs`. */
function within(world: VirtualClock, mostMs: number): Network {
  return () => ({ arrivals: [{ afterMs: world.random() * mostMs, replyAfterMs: world.random() * mostMs }] });
}

test.each([
  [14_000, 0],
  [16_000, 1],
])("after %d ms without a reply, the bounds of the service's time are too wide for a lease of 15 s: %d", async (ms, looks) => {
  const world = new VirtualClock(1);
  const service = new SimulatedService(world);
  const store = service.store(new ProcessClock(world), PROMPT);
  // In the middle of a second of the service's clock, so that two replies do not show the turn of a second.
  await world.advance(100);
  const lease = await world.runUntil(win(store));
  const before = service.served.reads;
  await world.advance(ms);
  await world.runUntil(store.renew(lease, LIMITS));
  expect(service.served.reads - before).toBe(looks);
});
