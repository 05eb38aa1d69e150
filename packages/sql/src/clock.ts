import type { Clock } from "@leasehold/core";

/**
 * A database's clock, by which ages are judged: that of its host or server. The wall clocks of hosts that are synchronized are tens
 * of milliseconds apart; a step of so much goes unnoticed, and is what the margin is for.
 */
export const STORE_CLOCK = { toleranceMs: 100, exact: false, mayStep: true } as const;

/** Returns the wall clock of whoever writes a nonce, rounded up: a greater age is the less safe one. */
export function writtenAtWallMs(clock: Clock): number {
  return Math.ceil(clock.wallMs());
}
