import { SeededRandom, VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { AcquireOrder } from "../src/election/acquire-order.ts";

let clock: VirtualClock;
let order: AcquireOrder;

beforeEach(() => {
  clock = new VirtualClock();
  order = new AcquireOrder(clock);
});

describe("a round trip", () => {
  test("counts as a millisecond at least, and as a tenth of a second at most", () => {
    expect(order.roundTripMs).toBe(1);
    order.tookMs(1_000);
    expect(order.roundTripMs).toBe(100);
  });

  test("is smoothed: the last one counts for an eighth", () => {
    order.tookMs(10);
    order.tookMs(18);
    expect(order.roundTripMs).toBeCloseTo(11);
  });
});

describe("a place", () => {
  test("is drawn once for each term, and anew once the candidate has acted", () => {
    const place = order.placeAfter(3, 1_000, true);
    expect(order.placeAfter(3, 2_000, true)).toBe(place);
    expect(order.placeAfter(4, 2_000, true)).not.toBe(place);
    const next = order.placeAfter(4, 2_000, true);
    order.taken();
    expect(order.placeAfter(4, 2_000, true)).not.toBe(next);
  });

  test.each([
    ["pushes", true, 1 / 12, [12, 22]],
    ["is polled", false, 1 / 6, [5, 10]],
  ] as const)(
    "is among the first for a few, where the store %s; the others wait until a win can be known",
    (_, isPushed, part, waits) => {
      const random = new SeededRandom(1);
      clock.random = () => random.next();
      const places = Array.from({ length: 6_000 }, (__, term) => {
        const one = new AcquireOrder(clock);
        one.tookMs(10);
        return one.placeAfter(term, 0, isPushed);
      });
      const first = places.filter(({ isFirst }) => isFirst).map(({ atMs }) => atMs);
      const others = places.filter(({ isFirst }) => !isFirst).map(({ atMs }) => atMs);

      expect(first.length / places.length).toBeCloseTo(part, 1.5);
      expect(Math.max(...first)).toBeLessThanOrEqual(4);
      expect(Math.min(...others)).toBeGreaterThanOrEqual(waits[0]);
      expect(Math.max(...others)).toBeLessThanOrEqual(waits[1]);
    },
  );

  test("spreads the first over 50 ms at most", () => {
    clock.random = () => 0.999;
    order.tookMs(1_000);
    expect(order.spreadMs()).toBeLessThanOrEqual(50);
  });
});
