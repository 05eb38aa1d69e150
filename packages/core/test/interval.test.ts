import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { intersect, middle, shift, widen, width, type Interval } from "../src/time/interval.ts";

const SEEDED = { seed: 20_261_120 };
const millis = fc.integer({ min: -1_000_000, max: 1_000_000 });
const interval: fc.Arbitrary<Interval> = fc.tuple(millis, fc.nat(1_000_000)).map(([lo, length]) => ({ lo, hi: lo + length }));

const holds = ({ lo, hi }: Interval, value: number): boolean => lo <= value && value <= hi;

describe("intervals", () => {
  test.prop([interval, interval, millis], SEEDED)("an intersection holds exactly what both hold", (a, b, value) => {
    const both = intersect(a, b);

    expect(both !== undefined && holds(both, value)).toBe(holds(a, value) && holds(b, value));
  });

  test.prop([interval, interval], SEEDED)("intersect is symmetric, and undefined only for intervals apart", (a, b) => {
    expect(intersect(a, b)).toEqual(intersect(b, a));
    expect(intersect(a, b) === undefined).toBe(a.hi < b.lo || b.hi < a.lo);
  });

  test.prop([interval, millis], SEEDED)("shifting keeps the width and moves the middle", (a, by) => {
    const shifted = shift(a, by);

    expect(width(shifted)).toBe(width(a));
    expect(middle(shifted)).toBe(middle(a) + by);
  });

  test.prop([interval, fc.nat(1_000)], SEEDED)("widening keeps the middle and adds to both sides", (a, by) => {
    const widened = widen(a, by);

    expect(middle(widened)).toBe(middle(a));
    expect(width(widened)).toBe(width(a) + 2 * by);
  });
});

test("intervals that touch overlap in one instant", () => {
  expect(intersect({ lo: 1, hi: 2 }, { lo: 2, hi: 3 })).toEqual({ lo: 2, hi: 2 });
});
