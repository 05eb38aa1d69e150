import { barsForMs, fail, tellToStop } from "./after-faults.ts";
import { NOBODY } from "./orders.ts";
import { SLOWEST_RATE } from "./stores/simulated-store.ts";
import type { World } from "./world.ts";

/** The share of runs in which an administrator has to help, if that is possible. */
const HELPS = 0.3;
/** The shortest interval of a leader's renewals into which an order's read and write fit. */
const ORDER_FITS_MS = 250;
/** The time for which the election is reserved for a candidate that never comes. */
const KEPT_MS = 600_000;

/**
 * Checks that an administrator can end a block, with no other fault. A leader goes and leaves all others blocked by its hold, its
 * group's reservation, or a transfer to a candidate that never comes. An administrator breaks that, and a candidate leads in the
 * time of a release.
 */
export async function seeLifting(world: World): Promise<void> {
  const { referee, store, orders } = world;
  const leader = referee.leader?.candidate;
  // An order has to fit between two renewals.
  if (!leader || leader.elector.timing.renewIntervalMs < ORDER_FITS_MS || !world.random.chance(HELPS)) return;
  const others = world.seated.filter((candidate) => candidate !== leader && candidate.competes);
  if (others.length > 0 && leader.releases && barsForMs(leader.plan) > 0) {
    world.note(leader.id, "is told to stop, and bars the others");
    tellToStop(leader);
  } else if (leader.process.access.store.capabilities.transfer) orders.transfer(NOBODY, KEPT_MS);
  else return;
  const { term } = leader;
  // A candidate of its group may acquire at once. In the same process it may do so even before the release has arrived.
  const isSucceeded = (): boolean => referee.highestTerm > term;
  // A break that overtakes the release does not lift what the release leaves behind.
  const isOver = (): boolean => !store.held && (!leader.told || leader.stopped);
  await world.until(() => isOver() || isSucceeded(), world.nowMs + (1.5 * world.leaseMs) / SLOWEST_RATE);
  if (isSucceeded()) return;
  if (!isOver()) fail("leader-returns", `${leader.id} does not hand over`);
  orders.break({});
  const promised = world.seated
    .filter((candidate) => candidate.competes)
    .map(({ elector: { timing } }) => timing.politeHandoverMs + timing.retryPeriodMs + timing.cooldownMs);
  const fromMs = world.nowMs;
  const withinMs = 2 * orders.timeoutMs + Math.max(...promised) / SLOWEST_RATE;
  await world.until(() => (referee.leader?.leadership.term ?? 0) > term, fromMs + withinMs);
  if ((referee.leader?.leadership.term ?? 0) > term) return;
  fail("leader-returns", `nobody leads ${Math.round(world.nowMs - fromMs)} ms after an administrator has lifted what barred`);
}
