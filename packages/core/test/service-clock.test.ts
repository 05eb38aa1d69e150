import { fc, test } from "@fast-check/vitest";
import { ServiceClock } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import { boundsOfAge } from "../src/time/service-clock.ts";

const SEEDED = { seed: 20_261_120 };
/** Service time minus monotonic time, which a `ServiceClock` must find. */
const offset = fc.integer({ min: -1_000_000_000, max: 1_000_000_000 });
const exchange = fc.record({ pauseMs: fc.nat(60_000), thereMs: fc.nat(2_000), backMs: fc.nat(2_000) });

describe("ServiceClock", () => {
  test("knows nothing before the first reply", () => {
    const service = new ServiceClock();

    expect(service.uncertaintyMs(0)).toBe(Infinity);
    expect(service.toService(0, 0)).toBeUndefined();
    expect(service.toMonotonic({ lo: 0, hi: 0 }, 0)).toBeUndefined();
  });

  test("learns nothing from an invalid date", () => {
    const service = new ServiceClock();
    service.sample(Number.NaN, 0, 0);
    expect(service.uncertaintyMs(0)).toBe(Infinity);
  });

  test.prop([offset, fc.array(exchange, { minLength: 1, maxLength: 30 })], SEEDED)(
    "always holds the true time, however slow the replies are",
    (offsetMs, exchanges) => {
      const service = new ServiceClock();
      let nowMs = 0;
      for (const { pauseMs, thereMs, backMs } of exchanges) {
        const sentMs = nowMs + pauseMs;
        nowMs = sentMs + thereMs + backMs;
        const dateMs = Math.floor((sentMs + thereMs + offsetMs) / 1_000) * 1_000;
        service.sample(dateMs, sentMs, nowMs);

        const { lo, hi } = service.toService(nowMs, nowMs)!;
        expect(lo).toBeLessThanOrEqual(nowMs + offsetMs);
        expect(hi).toBeGreaterThanOrEqual(nowMs + offsetMs);
      }
    },
  );

  test("each reply around the turn of a second reduces the uncertainty", () => {
    const service = new ServiceClock();
    service.sample(10_000, 500, 510);
    const atFirstMs = service.uncertaintyMs(510);

    // A sample at the expected turn of the second halves the uncertainty, whatever it shows.
    const atMs = service.sharpeningMs(510);
    service.sample(11_000, atMs, atMs + 10);

    expect(atFirstMs).toBeCloseTo(1_010, 5);
    expect(service.uncertaintyMs(atMs + 10)).toBeLessThan(atFirstMs * 0.55);
  });

  test("the bounds widen with time, because clocks drift", () => {
    const service = new ServiceClock();
    service.sample(10_000, 500, 510);

    expect(service.uncertaintyMs(1_000_510) - service.uncertaintyMs(510)).toBeCloseTo(2 * 1_000_000 * 0.0005, 5);
  });

  test("a reply that contradicts the others restarts it, because the service's clock was stepped", () => {
    const service = new ServiceClock();
    service.sample(10_000, 500, 510);
    service.sample(3_610_000, 600, 610);

    expect(service.toService(610, 610)!.lo).toBe(3_610_000);
  });

  test("returns the monotonic instants at which the service shows a time", () => {
    const service = new ServiceClock();
    service.sample(10_000, 500, 510);

    // The service was between 9,490 and 10,500 ms ahead.
    expect(service.toMonotonic({ lo: 20_000, hi: 20_000 }, 510)).toEqual({ lo: 9_500, hi: 10_510 });
  });
});

test.each([
  { ageMs: Number.NaN, bounds: undefined },
  { ageMs: -2_001, bounds: undefined },
  { ageMs: -2_000, bounds: [0, 0] },
  { ageMs: 5_000, bounds: [3_000, 7_000] },
])("the bounds of an age of $ageMs ms by two dates are $bounds", ({ ageMs, bounds }) => {
  expect(boundsOfAge(ageMs)).toEqual(bounds);
});
