import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { SeededRandom } from "@leasehold/core/testing";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import { checkGroups, groupChanges } from "./check-groups.ts";
import { checkReigns } from "./check-terms.ts";
import { checkTurnedAway } from "./check-turned-away.ts";
import type { GateSettings } from "./delivery.ts";
import { figuresOf } from "./figures.ts";
import { Fleet } from "./fleet.ts";
import { printHistory } from "./history.ts";
import { deathOf, workOf } from "./plan.ts";
import { storeTolerance } from "./store-tolerance.ts";
import type { StormOptions, Verdict } from "./storm.ts";
import type { Witness } from "./witness.ts";

const GROUPS = ["east", "west"] as const;
const WORKERS_OF_A_GROUP = 4;
/** The deliveries of each tick, for each group. */
const DELIVERIES_OF_A_TICK = 3;
const MISSED_TICKS = 2;
const PLATFORM_TIMEOUT_MS = 30_000;
/** The number of ticks with both groups, before and after one of them is away. */
const TOGETHER = 2;
/** After this number of ticks the present group has taken over, even on the slowest machine. */
const MOST_TICKS = 100;
/** The longest time between deliveries of a tick, as a part of a period. */
const SPREAD = 0.15;

interface Pace {
  readonly leaseMs: number;
  readonly periodMs: number;
}

/**
 * The period is above twice the tolerance of the store's clock, as the gate requires. A lease that is left behind expires before
 * its holder's group has missed its ticks because of it.
 */
const SHORT: Pace = { leaseMs: 2_000, periodMs: 3_000 };
// Twice 2 s. Azure's shortest lease is shorter than two and a half ticks.
const AZURE: Pace = { leaseMs: 15_000, periodMs: 8_000 };

/**
 * Each tick is delivered six times, to two groups of 4 workers. A third of the deliveries' processes are killed, while both
 * groups are there. A process that dies at a takeover blocks its own group for a lease. Then the leading group goes away until
 * the other one has taken over, and comes back. The other one then misses a single tick.
 */
export async function stormSticky({ store, service, seed }: StormOptions): Promise<Verdict> {
  const { leaseMs, periodMs } = store === "azure" ? AZURE : SHORT;
  const election = `storm-${randomUUID()}`;
  const gateOf = (group: string): GateSettings => ({
    gate: "sticky",
    election,
    group,
    periodMs,
    missedTicks: MISSED_TICKS,
    leaseDurationMs: leaseMs,
    remainingMs: PLATFORM_TIMEOUT_MS,
  });
  const places = GROUPS.flatMap((group) =>
    Array.from({ length: WORKERS_OF_A_GROUP }, () => ({ group, settings: { store: service, gates: [gateOf(group)] } })),
  );
  const dice = new SeededRandom(seed);
  await using fleet = await Fleet.gather(places);
  const beginMs = hostMs();
  const networkFaults = { workMs: periodMs / 10, leaseDurationMs: leaseMs, long: 0, failing: 0.05 };
  const underWay: Array<Promise<unknown>> = [];
  let away: string | undefined;
  let tick = 0;
  const play = async (): Promise<void> => {
    await delay(Math.max(beginMs + tick * periodMs - hostMs(), 1));
    for (const [at, group] of GROUPS.flatMap((each) => Array.from({ length: DELIVERIES_OF_A_TICK }, () => each)).entries()) {
      const place = GROUPS.indexOf(group) * WORKERS_OF_A_GROUP + Math.floor(dice.next() * WORKERS_OF_A_GROUP);
      const delivery = { ...workOf(dice, networkFaults), id: `tick${tick}-${at}`, election, scheduledMs: 0 };
      const [afterMs, death] = [
        dice.between(0, SPREAD * periodMs),
        away === undefined && dice.chance(1 / 3) ? deathOf(dice) : undefined,
      ];
      if (group === away) continue;
      underWay.push(delay(afterMs).then(async () => fleet.deliver(place, delivery, election, death)));
    }
    tick += 1;
  };
  const playTogether = async (): Promise<void> => {
    for (let ticks = 0; ticks < TOGETHER; ticks += 1) await play();
    await delay(Math.max(beginMs + tick * periodMs - hostMs(), 1));
  };
  const playWithoutLeaders = async (isOver: () => boolean): Promise<void> => {
    away = leadingGroup(fleet.witness);
    await fleet.close(away);
    do await play();
    while (!isOver() && tick < MOST_TICKS);
    // Open it again before the next tick is due.
    await fleet.open(away);
    away = undefined;
  };
  await playTogether();
  const changes = groupChanges(fleet.witness.deliveries).length;
  const isReplaced = (): boolean => groupChanges(fleet.witness.deliveries).length > changes;
  await playWithoutLeaders(isReplaced);
  await playTogether();
  await playWithoutLeaders(() => true);
  await playTogether();
  await Promise.all(underWay);
  await fleet.deathsAreOver();
  const { deliveries, failedWrites, surprises } = fleet.witness;
  const reservationMs = (MISSED_TICKS + 0.5) * periodMs;
  const bars = { leaseDurationMs: leaseMs, reservationMs, toleranceMs: await storeTolerance(service) };
  const problems = [
    ...surprises,
    ...checkReigns(deliveries),
    ...checkGroups(deliveries, reservationMs),
    ...(isReplaced() ? [] : ["No group took over from the one that was away"]),
    ...checkTurnedAway({ deliveries, failedWrites, ...bars }),
  ];
  return {
    problems,
    figures: figuresOf(deliveries, fleet.killed),
    history: printHistory(deliveries, failedWrites) + fleet.stderr,
  };
}

/** Returns the leading group by the last reports of all workers. */
function leadingGroup({ deliveries }: Witness): string {
  const acquired = deliveries.filter((delivery) => delivery.acquired);
  const last = acquired.toSorted((one, other) => (one.acquired?.term ?? 0) - (other.acquired?.term ?? 0)).at(-1);
  return last?.group ?? GROUPS[0];
}
