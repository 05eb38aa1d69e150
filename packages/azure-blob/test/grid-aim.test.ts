import { fc, test } from "@fast-check/vitest";
import { ServiceClock } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect } from "vitest";
import { nextLookAtGridMs, SHARP_MS } from "../src/grid-aim.ts";
import type { Grid } from "../src/schema.ts";

const SEEDED = { seed: 20_261_121, numRuns: 300 };
const HOUR_MS = 3_600_000;
const LEASE_MS = 15_000;
const INTERVAL_MS = 5_000;
const RETRY_MS = 2_000;

/** A standby whose polls a service answers. The service has a clock of its own, in whole seconds. */
class Standby {
  readonly clock: VirtualClock;
  readonly serviceClock = new ServiceClock();
  readonly #aheadMs: number;

  constructor(seed: number, serviceAheadMs: number) {
    this.clock = new VirtualClock(seed);
    this.#aheadMs = serviceAheadMs;
  }

  serviceMs(monotonicMs: number): number {
    return monotonicMs + this.#aheadMs;
  }

  look(): void {
    const nowMs = this.clock.monotonicMs();
    this.serviceClock.sample(Math.floor(this.serviceMs(nowMs) / 1_000) * 1_000, nowMs, nowMs);
  }

  /** Polls as an elector does for `ms`. Returns when, by the service's clock, and how long it waited for each poll. */
  async wait(
    ms: number,
    grid: Grid,
    retryPeriodMs = RETRY_MS,
  ): Promise<Array<{ readonly atMs: number; readonly afterMs: number }>> {
    const looks: Array<{ readonly atMs: number; readonly afterMs: number }> = [];
    const untilMs = this.clock.monotonicMs() + ms;
    while (this.clock.monotonicMs() < untilMs) {
      this.look();
      const { clock, serviceClock } = this;
      const aimMs = nextLookAtGridMs({ clock, serviceClock, grid, leaseDurationMs: LEASE_MS, retryPeriodMs });
      const afterMs = aimMs ?? retryPeriodMs;
      await this.clock.advance(afterMs);
      looks.push({ atMs: this.serviceMs(this.clock.monotonicMs()), afterMs });
    }
    return looks;
  }
}

/** Returns a grid that is known exactly, and whose tick is at `tickMs` by the service's clock. */
function sharp(tickMs: number, intervalMs = INTERVAL_MS): Grid {
  return { tick: { lo: tickMs, hi: tickMs }, intervalMs };
}

/** Returns every instant from `fromMs` to `untilMs` at which a lease that is renewed on the grid can run out. */
function expiries(grid: Grid, fromMs: number, untilMs: number): number[] {
  const first = grid.tick.lo + LEASE_MS;
  const skipped = Math.ceil((fromMs - first) / grid.intervalMs);
  const instants: number[] = [];
  for (let at = first + skipped * grid.intervalMs; at <= untilMs; at += grid.intervalMs) instants.push(at);
  return instants;
}

describe("the polls of a standby", () => {
  test.prop(
    [
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.integer({ min: -12 * HOUR_MS, max: 12 * HOUR_MS }),
      fc.integer({ min: -60_000, max: 60_000 }),
      fc.integer({ min: 1_000, max: 20_000 }),
      fc.integer({ min: 500, max: 10_000 }),
    ],
    SEEDED,
  )(
    "come just after every instant at which the lease can run out, with any service's clock, and never further apart than retryPeriodMs",
    async (seed, aheadMs, tickInMs, intervalMs, retryPeriodMs) => {
      const standby = new Standby(seed, aheadMs);
      const grid = sharp(standby.serviceMs(standby.clock.monotonicMs() + tickInMs), intervalMs);
      // Until it knows the service's clock, it polls as often as it may.
      await standby.wait(40_000, grid, retryPeriodMs);
      const sureMs = standby.serviceClock.uncertaintyMs(standby.clock.monotonicMs());
      const fromMs = standby.serviceMs(standby.clock.monotonicMs());
      const looks = await standby.wait(60_000, grid, retryPeriodMs);

      const untilMs = looks.at(-1)!.atMs - 200;
      const lateness = expiries(grid, fromMs, untilMs).map((at) => looks.find(({ atMs }) => atMs > at)!.atMs - at);
      for (const lateMs of lateness) expect(lateMs).toBeLessThanOrEqual(Math.max(sureMs, SHARP_MS) + 60 + 25 + 20);
      for (const { afterMs } of looks) {
        expect(afterMs).toBeGreaterThan(0);
        expect(afterMs).toBeLessThanOrEqual(retryPeriodMs);
      }
    },
  );

  test.prop([fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: -12 * HOUR_MS, max: 12 * HOUR_MS })], SEEDED)(
    "learn the service's clock by themselves, within half a minute",
    async (seed, aheadMs) => {
      const standby = new Standby(seed, aheadMs);
      await standby.wait(30_000, sharp(standby.serviceMs(standby.clock.monotonicMs())));

      const nowMs = standby.clock.monotonicMs();
      expect(standby.serviceClock.uncertaintyMs(nowMs)).toBeLessThanOrEqual(2 * SHARP_MS);
      const { lo, hi } = standby.serviceClock.toService(nowMs, nowMs)!;
      expect(standby.serviceMs(nowMs)).toBeGreaterThanOrEqual(lo);
      expect(standby.serviceMs(nowMs)).toBeLessThanOrEqual(hi);
    },
  );

  test("cost at most a tenth of blind polling, by worst extra failover in seconds times polls an hour", async () => {
    const standby = new Standby(1, HOUR_MS);
    const grid = sharp(standby.serviceMs(standby.clock.monotonicMs()));
    await standby.wait(40_000, grid);
    const fromMs = standby.serviceMs(standby.clock.monotonicMs());

    const looks = await standby.wait(HOUR_MS, grid);

    const lateness = expiries(grid, fromMs, looks.at(-1)!.atMs - 200).map((at) => looks.find(({ atMs }) => atMs > at)!.atMs - at);
    expect((Math.max(...lateness) / 1_000) * looks.length).toBeLessThanOrEqual(360);
  });

  test("do not use the wall clock, which may be hours off and jump", async () => {
    const [still, jumping] = [new Standby(7, -3 * HOUR_MS), new Standby(7, -3 * HOUR_MS)];
    const grid = sharp(still.serviceMs(still.clock.monotonicMs()));
    const seen: Array<readonly number[]> = [];
    for (const standby of [still, jumping]) {
      const looks: number[] = [];
      for (let round = 0; round < 10; round += 1) {
        if (standby === jumping) standby.clock.jumpWall(round % 2 ? 5 * HOUR_MS : -9 * HOUR_MS);
        for (const { atMs } of await standby.wait(3_000, grid)) looks.push(atMs);
      }
      seen.push(looks);
    }

    expect(seen[1]).toEqual(seen[0]);
  });

  test("of several standbys at one instant are spread a little, and upward", async () => {
    const grid = sharp(0);
    const delays = Array.from({ length: 20 }, (_, seed) => {
      const clock = new VirtualClock(seed + 1);
      const serviceClock = new ServiceClock();
      const nowMs = clock.monotonicMs();
      // Two replies at the turn of a second give the clock to the millisecond.
      serviceClock.sample(13_000, nowMs, nowMs);
      serviceClock.sample(12_000, nowMs, nowMs);
      return nextLookAtGridMs({ clock, serviceClock, grid, leaseDurationMs: LEASE_MS, retryPeriodMs: 4_000 })!;
    });

    // The lease can run out at 15,000 by the service's clock, which shows 13,000 now.
    for (const delayMs of delays) expect(delayMs).toBeGreaterThanOrEqual(2_025);
    for (const delayMs of delays) expect(delayMs).toBeLessThanOrEqual(2_045);
    expect(new Set(delays).size).toBeGreaterThan(10);
  });

  test("have no aim before the service's clock is known", () => {
    const aim = {
      clock: new VirtualClock(),
      serviceClock: new ServiceClock(),
      grid: sharp(0),
      leaseDurationMs: LEASE_MS,
      retryPeriodMs: RETRY_MS,
    };

    expect(nextLookAtGridMs(aim)).toBeUndefined();
  });
});

describe("the wait for the next poll", () => {
  /** Returns the aim for a service's clock that is known. A poll at any time would give new information about it. */
  function aimMs(untilExpiryMs: number, { uncertaintyMs = 15, sharpeningMs = 0 } = {}): number | undefined {
    const clock = new VirtualClock();
    clock.random = () => 0.5;
    const nowMs = clock.monotonicMs();
    // The poll waits 25 ms after the expiry.
    const hi = nowMs + untilExpiryMs - LEASE_MS - 25;
    const serviceClock = {
      toMonotonic: () => ({ lo: hi, hi }),
      uncertaintyMs: () => uncertaintyMs,
      sharpeningMs: (fromMs: number) => fromMs + sharpeningMs,
    } as unknown as ServiceClock;
    const grid = sharp(0, 60_000);
    return nextLookAtGridMs({ clock, serviceClock, grid, leaseDurationMs: LEASE_MS, retryPeriodMs: RETRY_MS });
  }

  test("is the time until the next possible expiry, a little spread, if no other poll fits before it", () => {
    expect(aimMs(RETRY_MS)).toBe(RETRY_MS);
    expect(aimMs(RETRY_MS - 10)).toBe(RETRY_MS);
    expect(aimMs(500)).toBe(510);
  });

  test("is an equal part of it if more polls fit, once the service's clock is known", () => {
    expect(aimMs(RETRY_MS + 1)).toBe((RETRY_MS + 1) / 2);
    expect(aimMs(5_000)).toBeCloseTo(5_000 / 3, 6);
  });

  test("ends when a poll says most about that clock if it is not known, if the other polls can make up for it", () => {
    // The two polls after it cover four seconds.
    expect(aimMs(5_000, { uncertaintyMs: 16 })).toBe(1_000);
    expect(aimMs(5_000, { uncertaintyMs: 16, sharpeningMs: 1_000 })).toBe(RETRY_MS);
    expect(aimMs(5_000, { uncertaintyMs: 16, sharpeningMs: 1_001 })).toBeCloseTo(5_000 / 3, 6);
    expect(aimMs(4_000, { uncertaintyMs: 16 })).toBe(2_000);
  });
});
