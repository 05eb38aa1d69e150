import type { Clock } from "@leasehold/core/provider";

/**
 * Describes the clock of the database's host or server, by which the store judges ages. Synchronized hosts have wall clocks that
 * differ by tens of milliseconds. A step of `toleranceMs` or less is not noticed; the margin of the lease covers it.
 */
export const STORE_CLOCK = { toleranceMs: 100, exact: false, mayStep: true } as const;

/**
 * Returns the wall clock of the process that writes a nonce, rounded up. A later write time makes the age smaller, and a smaller
 * age is the safer one.
 */
export function writtenAtWallMs(clock: Clock): number {
  return Math.ceil(clock.wallMs());
}
