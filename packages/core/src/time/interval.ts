/** A closed interval of milliseconds on some clock. It holds a value that cannot be read directly. */
export interface Interval {
  readonly lo: number;
  readonly hi: number;
}

/** The difference of two clocks' rates that an estimate of another clock's time allows for. Crystals differ less (0.02%). */
export const AIM_DRIFT = 0.0005;

/** Returns the overlap of both intervals, or `undefined` if they contradict each other. */
export function intersect(a: Interval, b: Interval): Interval | undefined {
  const lo = Math.max(a.lo, b.lo);
  const hi = Math.min(a.hi, b.hi);
  return lo <= hi ? { lo, hi } : undefined;
}

export function shift({ lo, hi }: Interval, by: number): Interval {
  return { lo: lo + by, hi: hi + by };
}

export function widen({ lo, hi }: Interval, by: number): Interval {
  return { lo: lo - by, hi: hi + by };
}

export function middle({ lo, hi }: Interval): number {
  return (lo + hi) / 2;
}

export function width({ lo, hi }: Interval): number {
  return hi - lo;
}
