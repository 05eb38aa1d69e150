/**
 * Milliseconds by the host's monotonic clock: one clock for all processes of this machine (CLOCK_MONOTONIC on Linux).
 * Nothing under test sees it.
 */
export function hostMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * Returns an instant of this process's own monotonic clock (`performance.now()`) by the host's. The two are read one after the
 * other, and a busy machine may do something else in between: of a few readings the closest counts.
 */
export function byHostClock(monotonicMs: number): number {
  const offsets = [0, 1, 2].map(() => hostMs() - performance.now());
  return monotonicMs + Math.max(...offsets);
}
