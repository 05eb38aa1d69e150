import type { Leadership } from "@leasehold/core";
import type { SeededRandom } from "@leasehold/core/testing";

/** How long a task that renews by hand goes on without renewing, in leases of its own: most in time, some too late. */
export function drawStepLeases(random: SeededRandom, punctual: boolean): number {
  return punctual || random.chance(0.8) ? random.between(0.03, 0.12) : random.between(0.2, 1);
}

/** Renews, at times twice at once. Resolves to whether a renewal has resolved although the leadership was not valid by then. */
export async function renewByHand(leadership: Leadership, random: SeededRandom, asks: boolean): Promise<boolean> {
  const renew = async (): Promise<boolean> => {
    await leadership.renew();
    return asks && !leadership.isValid();
  };
  const told = await Promise.allSettled(random.chance(0.2) ? [renew(), renew()] : [renew()]);
  return told.some((renewal) => renewal.status === "fulfilled" && renewal.value);
}
