/**
 * Milliseconds by the host's monotonic clock: one clock for all processes of this machine (CLOCK_MONOTONIC on Linux).
 * Nothing under test sees it.
 */
export function hostMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
