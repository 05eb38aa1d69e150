import { fc, test } from "@fast-check/vitest";
import { type Clock, type Instant, instantOf } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import { DynamoDBClock, TOLERANCE_MS } from "../src/clock.ts";

const SEEDED = { seed: 20_261_121, numRuns: 500 };
const HOUR_MS = 3_600_000;

/** The clocks of one process, and the true time of the service. Each moves only at the test's command. */
class Clocks implements Clock {
  truthMs: number;
  #monotonicMs = 5_000;
  #wallMs: number;
  readonly #rate: number;

  constructor({ truthMs = Date.UTC(2026, 0, 1), wallOffsetMs = 0, rate = 1 } = {}) {
    this.truthMs = truthMs;
    this.#wallMs = truthMs + wallOffsetMs;
    this.#rate = rate;
  }

  pass(ms: number): void {
    this.truthMs += ms;
    this.#monotonicMs += ms * this.#rate;
    this.#wallMs += ms * this.#rate;
  }

  /** Suspends the machine: its monotonic clock stands still. */
  suspend(ms: number): void {
    this.truthMs += ms;
    this.#wallMs += ms * this.#rate;
  }

  jumpWall(ms: number): void {
    this.#wallMs += ms;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  setTimer(): never {
    throw new Error("DynamoDBClock sets no timer.");
  }

  random(): never {
    throw new Error("DynamoDBClock draws no number.");
  }

  randomUuid(): never {
    throw new Error("DynamoDBClock makes no name.");
  }
}

/** Returns the `Date` header of a machine whose clock differs from the true time, in whole seconds. */
function dateOf(truthMs: number, hostOffsetMs = 0): number {
  return Math.floor((truthMs + hostOffsetMs) / 1_000) * 1_000;
}

interface Exchange {
  readonly thereMs: number;
  readonly backMs: number;
  readonly hostOffsetMs: number;
}

function exchange(time: DynamoDBClock, clocks: Clocks, { thereMs, backMs, hostOffsetMs }: Exchange): void {
  const sentAt: Instant = instantOf(clocks);
  clocks.pass(thereMs);
  const dateMs = dateOf(clocks.truthMs, hostOffsetMs);
  clocks.pass(backMs);
  time.sample(dateMs, sentAt);
}

function expectTruth(time: DynamoDBClock, clocks: Clocks): void {
  const bounds = time.bounds();
  expect(bounds).toBeDefined();
  expect(bounds!.lo).toBeLessThanOrEqual(clocks.truthMs);
  expect(bounds!.hi).toBeGreaterThanOrEqual(clocks.truthMs);
}

const clocks = fc.record({
  truthMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
  wallOffsetMs: fc.integer({ min: -48 * HOUR_MS, max: 48 * HOUR_MS }),
  // The rates of two clocks differ by less than a tenth.
  rate: fc.double({ min: 1 / 1.1, max: 1.1, noNaN: true }),
});
const talk = fc.record({
  thereMs: fc.nat(10_000),
  backMs: fc.nat(10_000),
  hostOffsetMs: fc.integer({ min: -TOLERANCE_MS / 2, max: TOLERANCE_MS / 2 }),
});
const jump = fc.integer({ min: -5 * HOUR_MS, max: 5 * HOUR_MS });
const pause = fc.oneof(fc.nat(2_000), fc.nat(HOUR_MS));
const steps = fc.array(fc.record({ pauseMs: pause, jumpMs: fc.oneof(fc.constant(0), jump), talks: fc.boolean(), talk }), {
  maxLength: 30,
});

describe("the bounds of the service's time", () => {
  test("are unknown before the first reply", () => {
    expect(new DynamoDBClock(new Clocks()).bounds()).toBeUndefined();
  });

  test.prop([clocks, talk, steps], SEEDED)(
    "contain the true time for any clocks of this machine, any delay of replies, and any setting of its wall clock",
    (given, first, rest) => {
      const process = new Clocks(given);
      const time = new DynamoDBClock(process);
      exchange(time, process, first);
      expectTruth(time, process);
      for (const step of rest) {
        process.pass(step.pauseMs);
        process.jumpWall(step.jumpMs);
        expectTruth(time, process);
        if (step.talks) exchange(time, process, step.talk);
        expectTruth(time, process);
      }
    },
  );

  test.prop([clocks, talk, steps, pause], SEEDED)(
    "contain the true time also while the machine is suspended, even during a request",
    (given, first, rest, suspendedMs) => {
      const process = new Clocks(given);
      const time = new DynamoDBClock(process);
      exchange(time, process, first);
      for (const step of rest) {
        process.suspend(step.pauseMs);
        // If the wall clock were set back during a suspension, this process could not notice it: see the documented assumptions.
        process.jumpWall(Math.abs(step.jumpMs));
        expectTruth(time, process);
        const sentAt = instantOf(process);
        process.suspend(suspendedMs);
        const dateMs = dateOf(process.truthMs, step.talk.hostOffsetMs);
        process.suspend(step.talk.backMs);
        time.sample(dateMs, sentAt);
        expectTruth(time, process);
      }
    },
  );

  test.prop([clocks, talk, steps], SEEDED)("are never made worse by a reply", (given, first, rest) => {
    const process = new Clocks(given);
    const time = new DynamoDBClock(process);
    exchange(time, process, first);
    for (const step of rest) {
      process.pass(step.pauseMs);
      process.jumpWall(step.jumpMs);
      const sentAt = instantOf(process);
      process.pass(step.talk.thereMs);
      const dateMs = dateOf(process.truthMs, step.talk.hostOffsetMs);
      process.pass(step.talk.backMs);
      const before = time.bounds()!;
      time.sample(dateMs, sentAt);
      const after = time.bounds()!;
      // A reply whose bounds differ by no more than the tolerance may replace an older one.
      expect(after.lo).toBeGreaterThanOrEqual(before.lo - TOLERANCE_MS / 2);
      expect(after.hi).toBeLessThanOrEqual(before.hi + TOLERANCE_MS / 2);
    }
  });

  test("come from the second in a reply, from the time of its request and the time of its arrival", () => {
    const process = new Clocks();
    const time = new DynamoDBClock(process);
    const sentAt = instantOf(process);
    process.pass(300);
    time.sample(10_000, sentAt);

    expect(time.bounds()).toEqual({ lo: 10_000 - 500, hi: 11_000 + 330 + 500 });
  });

  test("widen with time by a tenth on either side", () => {
    const process = new Clocks();
    const time = new DynamoDBClock(process);
    time.sample(10_000, instantOf(process));
    process.pass(100_000);

    const { lo, hi } = time.bounds()!;
    expect(lo).toBeCloseTo(10_000 + 90_000 - 500, 5);
    expect(hi).toBeCloseTo(11_000 + 110_000 + 500, 5);
  });

  test("become narrower if two replies show the turn of a second", () => {
    const process = new Clocks();
    const time = new DynamoDBClock(process);
    time.sample(10_000, instantOf(process));
    process.pass(10);
    time.sample(11_000, instantOf(process));

    const { lo, hi } = time.bounds()!;
    expect(lo).toBeCloseTo(10_500, 5);
    expect(hi).toBeCloseTo(11_511, 5);
  });

  test("advance the upper one by the larger of both clocks, and the lower one by the monotonic clock", () => {
    const process = new Clocks();
    const time = new DynamoDBClock(process);
    time.sample(10_000, instantOf(process));
    process.jumpWall(HOUR_MS);
    expect(time.bounds()).toEqual({ lo: 9_500, hi: 11_500 + 1.1 * HOUR_MS });

    process.jumpWall(-2 * HOUR_MS);
    expect(time.bounds()).toEqual({ lo: 9_500, hi: 11_500 });
  });

  test("that meet in one point do not contradict each other; beyond it neither is believed", () => {
    for (const [dateMs, bounds] of [
      [12_000, { lo: 11_500, hi: 11_500 }],
      [12_001, undefined],
    ] as const) {
      const process = new Clocks();
      const time = new DynamoDBClock(process);
      time.sample(10_000, instantOf(process));
      time.sample(dateMs, instantOf(process));
      expect(time.bounds()).toEqual(bounds);
    }
  });

  test("are those of a later reply that is as precise within the tolerance, and stay for one that is less precise", () => {
    for (const [dateMs, bounds] of [
      [10_500, { lo: 10_000, hi: 12_000 }],
      [10_501, { lo: 10_001, hi: 11_500 }],
      [9_500, { lo: 9_000, hi: 11_000 }],
      [9_499, { lo: 9_500, hi: 10_999 }],
    ] as const) {
      const process = new Clocks();
      const time = new DynamoDBClock(process);
      time.sample(10_000, instantOf(process));
      time.sample(dateMs, instantOf(process));
      expect(time.bounds()).toEqual(bounds);
    }
  });

  test.each([
    ["forward", HOUR_MS],
    ["back", -HOUR_MS],
  ])("are given up when the service's clock is seen to have stepped %s, and begin again with the next reply", (_, stepMs) => {
    const process = new Clocks();
    const time = new DynamoDBClock(process);
    time.sample(10_000_000, instantOf(process));
    process.pass(1_000);

    time.sample(10_001_000 + stepMs, instantOf(process));
    expect(time.bounds()).toBeUndefined();

    process.pass(1_000);
    time.sample(10_002_000 + stepMs, instantOf(process));
    expect(time.bounds()).toEqual({ lo: 10_001_500 + stepMs, hi: 10_003_500 + stepMs });
  });

  test.each([NaN, Infinity, -Infinity])("do not change by an invalid date: %d", (dateMs) => {
    const process = new Clocks();
    const time = new DynamoDBClock(process);
    time.sample(dateMs, instantOf(process));
    expect(time.bounds()).toBeUndefined();

    time.sample(10_000, instantOf(process));
    const before = time.bounds();
    time.sample(dateMs, instantOf(process));
    expect(time.bounds()).toEqual(before);
  });
});
