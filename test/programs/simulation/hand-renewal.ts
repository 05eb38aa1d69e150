import type { Leadership, Timing } from "@leasehold/core";
import type { SeededRandom } from "@leasehold/core/testing";
import { FASTEST_RATE, SLOWEST_RATE } from "./stores/simulated-store.ts";

/** The longest time for which a task continues without asking for a renewal that is in time, in leases of its own. */
const LONGEST_PUNCTUAL_LEASES = 0.12;

/**
 * Draws the time for which a task that renews by hand continues without a renewal, in its own leases. Most are in time, some are
 * too late.
 */
export function drawStepLeases(random: SeededRandom, punctual: boolean, timing: Timing): number {
  if (!punctual && !random.chance(0.8)) return random.between(0.2, 1);
  return random.between(0.03, Math.min(LONGEST_PUNCTUAL_LEASES, roomLeases(timing)));
}

/** Returns the time that the options leave for asking, so that a whole attempt still fits before the deadline by either clock. */
function roomLeases({ leaseDurationMs, renewIntervalMs, renewDeadlineMs, attemptTimeoutMs }: Timing): number {
  const roomMs = renewDeadlineMs - renewIntervalMs - attemptTimeoutMs;
  return (roomMs * SLOWEST_RATE) / FASTEST_RATE / leaseDurationMs;
}

/** Renews, sometimes twice at once. Resolves to true if a renewal resolved although the leadership was no longer valid. */
export async function renewByHand(leadership: Leadership, random: SeededRandom, asks: boolean): Promise<boolean> {
  const renew = async (): Promise<boolean> => {
    await leadership.renew();
    return asks && !leadership.isValid();
  };
  const told = await Promise.allSettled(random.chance(0.2) ? [renew(), renew()] : [renew()]);
  return told.some((renewal) => renewal.status === "fulfilled" && renewal.value);
}
