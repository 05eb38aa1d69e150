import { SeededRandom, VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { AcquireOrder } from "../src/election/acquire-order.ts";

const OCCASION = { isWoken: true, isPushed: true };

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

describe("the turn of a candidate", () => {
  test("is drawn once for each term, and anew once the candidate has acted", () => {
    const place = order.placeAfter(3, { ...OCCASION, sinceMs: 1_000 });
    expect(order.placeAfter(3, { ...OCCASION, sinceMs: 2_000 })).toBe(place);
    expect(order.placeAfter(4, { ...OCCASION, sinceMs: 2_000 })).not.toBe(place);
    const next = order.placeAfter(4, { ...OCCASION, sinceMs: 2_000 });
    order.taken();
    expect(order.placeAfter(4, { ...OCCASION, sinceMs: 2_000 })).not.toBe(next);
  });

  test.each([
    ["it was woken", { isWoken: true, isPushed: true }, 1 / 12, [17, 19]],
    ["it has polled", { isWoken: false, isPushed: false }, 1 / 5, [7.5, 9.5]],
    ["a lease has run out, and it would be woken", { isWoken: false, isPushed: true }, 1 / 5, [17, 19]],
  ] as const)("is among the first for a few, where %s; the others wait until a win can be known", (_, how, part, waits) => {
    const random = new SeededRandom(1);
    clock.random = () => random.next();
    const places = Array.from({ length: 6_000 }, (__, term) => {
      const one = new AcquireOrder(clock);
      one.tookMs(10);
      return one.placeAfter(term, { sinceMs: 0, ...how });
    });
    const first = places.filter(({ isFirst }) => isFirst).map(({ atMs }) => atMs);
    const others = places.filter(({ isFirst }) => !isFirst).map(({ atMs }) => atMs);

    expect(first.length / places.length).toBeCloseTo(part, 1.5);
    expect(Math.max(...first)).toBe(0);
    expect(Math.min(...others)).toBeGreaterThanOrEqual(waits[0]);
    expect(Math.max(...others)).toBeLessThanOrEqual(waits[1]);
  });

  test("spreads polls over 40 ms at most", () => {
    clock.random = () => 0.999;
    order.tookMs(1_000);
    expect(order.spreadMs()).toBeLessThanOrEqual(40);
  });
});
