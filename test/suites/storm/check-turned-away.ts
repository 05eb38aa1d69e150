import { READING_MS } from "./check-holds.ts";
import type { DeliveryLog, FailedWrite } from "./witness.ts";

/** The facts that may block a delivery from leading. */
export interface Bars {
  readonly deliveries: readonly DeliveryLog[];
  readonly failedWrites: readonly FailedWrite[];
  readonly leaseDurationMs: number;
  /** The longest delay with which the end of a lease, or of a reservation, is found. */
  readonly toleranceMs: number;
  readonly minimumHoldMs?: number | undefined;
  /** The time for which a group keeps the election. */
  readonly reservationMs?: number | undefined;
}

/** A delivery that may have had the lease. */
interface Claim {
  readonly id: string;
  readonly group: string | undefined;
  readonly fromMs: number;
  /** The latest time at which the store can have had a request of it. */
  readonly lastMs: number;
  readonly freeMs: number;
}

/**
 * Returns deliveries that were turned away although nothing blocked them, from before they were sent until they got the answer.
 */
export function checkTurnedAway(bars: Bars): string[] {
  const { deliveries, toleranceMs, reservationMs = 0 } = bars;
  const claims = claimsOf(bars);
  return deliveries.flatMap(({ id, group, sentMs, settled }) => {
    if (settled?.outcome !== "standby") return [];
    const barring = claims.filter((claim) => {
      const reservedMs = claim.group === group ? 0 : claim.lastMs + reservationMs;
      const barredMs = Math.max(claim.freeMs, reservedMs) + toleranceMs + READING_MS;
      return claim.id !== id && claim.fromMs <= settled.atMs && barredMs >= sentMs;
    });
    return barring.length > 0 ? [] : [`${id} was turned away, and nobody led`];
  });
}

function claimsOf({ deliveries, failedWrites, leaseDurationMs, minimumHoldMs = 0 }: Bars): Claim[] {
  const made = deliveries.flatMap(({ id, group, sentMs, acquired, released, settled, diedMs }): Claim[] => {
    if (!acquired && diedMs === undefined) return [];
    const lastMs = released?.atMs ?? diedMs ?? settled?.atMs ?? Infinity;
    // After a release the rest of the hold counts from the release.
    const freeMs = lastMs + (released?.ok ? minimumHoldMs : leaseDurationMs);
    return [{ id, group, fromMs: sentMs, lastMs, freeMs }];
  });
  // The store may have carried it out, before or after the caller gave up. No report tells it.
  const lost = failedWrites.map(({ group, atMs }) => ({
    id: "",
    group,
    fromMs: atMs - leaseDurationMs,
    lastMs: atMs + leaseDurationMs,
    freeMs: atMs + 2 * leaseDurationMs,
  }));
  return [...made, ...lost];
}
