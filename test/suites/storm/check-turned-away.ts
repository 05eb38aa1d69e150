import { READING_MS } from "./check-holds.ts";
import type { DeliveryLog, FailedWrite } from "./witness.ts";

/** What may keep a delivery from leading. */
export interface Bars {
  readonly deliveries: readonly DeliveryLog[];
  readonly failedWrites: readonly FailedWrite[];
  readonly leaseDurationMs: number;
  /** How late the end of a lease, or of a reservation, may be found. */
  readonly toleranceMs: number;
  readonly minimumHoldMs?: number | undefined;
  /** How long a group keeps the election to itself. */
  readonly reservationMs?: number | undefined;
}

/** Somebody who may have had the lease. */
interface Claim {
  readonly id: string;
  readonly group: string | undefined;
  readonly fromMs: number;
  /** The last that the store can have heard of it. */
  readonly lastMs: number;
  readonly freeMs: number;
}

/** Deliveries that were turned away although there was nothing to bar them, from before they were sent until they were told. */
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
    // A hold counts from the release, and is for what is left of it then.
    const freeMs = lastMs + (released?.ok ? minimumHoldMs : leaseDurationMs);
    return [{ id, group, fromMs: sentMs, lastMs, freeMs }];
  });
  // Perhaps carried out, before or after it was given up, and nobody knows of it.
  const lost = failedWrites.map(({ group, atMs }) => ({
    id: "",
    group,
    fromMs: atMs - leaseDurationMs,
    lastMs: atMs + leaseDurationMs,
    freeMs: atMs + 2 * leaseDurationMs,
  }));
  return [...made, ...lost];
}
