/**
 * Returns milliseconds by the host's monotonic clock: one clock for all processes of this machine (CLOCK_MONOTONIC on Linux). The
 * code under test does not use it.
 */
export function hostMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * Converts an instant of this process's own monotonic clock (`performance.now()`) to the host's clock. The two clocks are read
 * one after the other, and a busy machine may interrupt in between. So it uses the closest of a few readings.
 */
export function byHostClock(monotonicMs: number): number {
  const offsets = [0, 1, 2].map(() => hostMs() - performance.now());
  return monotonicMs + Math.max(...offsets);
}
