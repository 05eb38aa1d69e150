import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { RenewalPhase } from "../src/records/renewal-phase.ts";

const SEEDED = { seed: 20_261_120 };
const INTERVAL_MS = 5_000;
const LATENCY_MS = 10;
const RETRY_PERIOD_MS = 2_000;

/** A standby that polls when its phase says so. The holder renews on a grid until it crashes. */
class Look {
  nowMs = 0;
  looks = 0;
  readonly #phase = new RenewalPhase(INTERVAL_MS);
  readonly #offsetMs: number;
  readonly #crashMs: number;
  #seen = -1;

  constructor(offsetMs: number, crashMs = Infinity) {
    this.#offsetMs = offsetMs;
    this.#crashMs = crashMs;
  }

  /** Waits and polls. Returns the age of the newest renewal if the poll is the first to show it. */
  step(): number | undefined {
    const untilMs = this.#phase.nextPollMs(this.nowMs);
    this.nowMs += untilMs / Math.max(1, Math.ceil(untilMs / RETRY_PERIOD_MS));
    return this.look();
  }

  look(): number | undefined {
    const sentMs = this.nowMs;
    const atStoreMs = Math.min(sentMs + LATENCY_MS / 2, this.#crashMs);
    const newest = Math.floor((atStoreMs - this.#offsetMs) / INTERVAL_MS);
    const renewed = newest > this.#seen && this.looks > 0;
    this.#seen = Math.max(this.#seen, newest);
    this.nowMs = sentMs + LATENCY_MS;
    this.looks += 1;
    this.#phase.polled(sentMs, this.nowMs, renewed);
    return renewed ? this.nowMs - (newest * INTERVAL_MS + this.#offsetMs) : undefined;
  }
}

describe("the phase of a holder's renewals", () => {
  test.prop([fc.integer({ min: 0, max: INTERVAL_MS - 1 })], SEEDED)(
    "within a minute a standby observes each renewal a few dozen milliseconds after it was made",
    (offsetMs) => {
      const standby = new Look(offsetMs);
      standby.look();
      while (standby.nowMs < 60_000) standby.step();

      const lags: number[] = [];
      while (standby.nowMs < 360_000) {
        const lagMs = standby.step();
        if (lagMs !== undefined) lags.push(lagMs);
      }

      expect(lags.length).toBeGreaterThanOrEqual(58);
      expect(Math.max(...lags)).toBeLessThanOrEqual(80);
    },
  );

  test.prop([fc.integer({ min: 0, max: INTERVAL_MS - 1 })], SEEDED)(
    "it needs at most one poll per renewal beyond those of retryPeriodMs",
    (offsetMs) => {
      const standby = new Look(offsetMs);
      standby.look();
      while (standby.nowMs < 60_000) standby.step();
      const before = standby.looks;

      while (standby.nowMs < 660_000) standby.step();

      expect(standby.looks - before).toBeLessThanOrEqual((600_000 / INTERVAL_MS) * 3.3);
    },
  );

  test("an expected renewal that is missing causes two quick polls, then the usual ones", () => {
    const standby = new Look(1_234, 100_000);
    standby.look();
    while (standby.nowMs < 100_000 + INTERVAL_MS) standby.step();
    const waits: number[] = [];
    for (let looks = 0; looks < 6; looks += 1) {
      const beforeMs = standby.nowMs;
      standby.step();
      waits.push(standby.nowMs - beforeMs - LATENCY_MS);
    }

    expect(waits.filter((ms) => ms < 200)).toHaveLength(2);
    expect(waits.filter((ms) => ms > 1_000).length).toBeGreaterThanOrEqual(3);
  });

  test("the quick polls follow a poll that may have come too early, after 40 and 120 ms", () => {
    const phase = new RenewalPhase(INTERVAL_MS);
    phase.polled(1_000, 1_005, false);
    phase.polled(1_010, 1_015, true);
    const waits = [6_100, 6_150, 6_280].map((sentMs) => {
      phase.polled(sentMs, sentMs + LATENCY_MS, false);
      return phase.nextPollMs(sentMs + LATENCY_MS);
    });

    expect(waits.slice(0, 2)).toEqual([40, 120]);
    expect(waits[2]).toBeGreaterThan(4_000);
  });

  test("renewals that were not observed leave the phase as sharp as before", () => {
    const phase = new RenewalPhase(INTERVAL_MS);
    phase.polled(1_000, 1_005, false);
    phase.polled(1_010, 1_015, true);
    // An uncertainty of 20 ms counts as sharp: the poll comes 10 ms after the latest instant of the renewal.
    expect(phase.nextPollMs(1_015)).toBe(INTERVAL_MS + 12.5);
    phase.polled(16_010, 16_020, true);

    expect(phase.nextPollMs(16_020)).toBeGreaterThan(0.9 * INTERVAL_MS);
  });

  test("before any observed renewal it aims one interval ahead, so that retryPeriodMs decides", () => {
    expect(new RenewalPhase(INTERVAL_MS).nextPollMs(123_456)).toBe(INTERVAL_MS);
  });

  test.prop([fc.array(fc.tuple(fc.nat(20_000), fc.nat(3_000), fc.boolean()), { maxLength: 60 })], SEEDED)(
    "for any polls it returns a wait of about an interval at most, and never zero",
    (history) => {
      const phase = new RenewalPhase(INTERVAL_MS);
      let nowMs = 0;
      for (const [pauseMs, latencyMs, renewed] of history) {
        const sentMs = nowMs + pauseMs;
        nowMs = sentMs + latencyMs;
        phase.polled(sentMs, nowMs, renewed);

        const nextMs = phase.nextPollMs(nowMs);
        expect(nextMs).toBeGreaterThan(0);
        expect(nextMs).toBeLessThanOrEqual(2.2 * INTERVAL_MS);
      }
    },
  );

  test("a second renewal soon after the first moves the grid", () => {
    const phase = new RenewalPhase(INTERVAL_MS);
    phase.polled(0, LATENCY_MS, true);
    phase.polled(1_000, 1_000 + LATENCY_MS, true);

    // The renewal came between the two polls. The next poll aims at the middle of the remaining interval.
    expect(1_000 + LATENCY_MS + phase.nextPollMs(1_000 + LATENCY_MS)).toBeCloseTo(INTERVAL_MS + 508.75, 6);
  });
});
