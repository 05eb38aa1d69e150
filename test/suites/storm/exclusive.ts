import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { SeededRandom } from "@leasehold/core/testing";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import type { StoreName } from "@leasehold/test-kit/stores/stores";
import { checkHolds } from "./check-holds.ts";
import { checkReigns } from "./check-terms.ts";
import { checkTurnedAway } from "./check-turned-away.ts";
import type { GateSettings } from "./delivery.ts";
import { figuresOf } from "./figures.ts";
import { Fleet } from "./fleet.ts";
import { printHistory } from "./history.ts";
import { withDeaths, workOf, type PlannedDelivery } from "./plan.ts";
import { storeTolerance } from "./store-tolerance.ts";
import type { StormOptions, Verdict } from "./storm.ts";

const WORKERS = 8;
/** The deliveries of each tick, for each of two elections: two at the same time, and two more. */
const DELIVERIES_OF_A_TICK = 4;
const PLATFORM_TIMEOUT_MS = 30_000;

interface Pace {
  readonly ticks: number;
  readonly leaseMs: number;
  readonly tickEveryMs: number;
  /** The minimum hold of the second election, whose handlers are quick. */
  readonly minimumHoldMs: number;
}

/** A lease that a dead process leaves blocks the election until it expires. There are enough ticks between two of them. */
const SHORT: Pace = { ticks: 20, leaseMs: 3_000, tickEveryMs: 1_200, minimumHoldMs: 700 };
/** Azure's shortest lease, and holds in whole seconds. */
const AZURE: Pace = { ticks: 12, leaseMs: 15_000, tickEveryMs: 4_000, minimumHoldMs: 2_000 };

/**
 * Eight deliveries of each tick to 8 workers. Half of them are in an election with a minimum hold. A third of their processes are
 * killed. Nothing is delivered again, so missed ticks stay missed. There are fewer than of occurrences, because a delivery that
 * dies blocks the whole election for its lease.
 */
export async function stormExclusive({ store, service, seed }: StormOptions): Promise<Verdict> {
  const pace = paceOf(store);
  const { leaseMs, minimumHoldMs } = pace;
  const [plain, held] = [`storm-${randomUUID()}`, `storm-held-${randomUUID()}`];
  const common = { gate: "exclusive", leaseDurationMs: leaseMs, remainingMs: PLATFORM_TIMEOUT_MS } as const;
  const gates: GateSettings[] = [
    { ...common, election: plain },
    { ...common, election: held, minimumHoldMs },
  ];
  const dice = new SeededRandom(seed);
  await using fleet = await Fleet.gather(Array.from({ length: WORKERS }, () => ({ settings: { store: service, gates } })));
  const beginMs = hostMs();
  await Promise.all(
    planOf(dice, pace, plain, held).map(async ({ tick, place, atMs, death, ...work }, at) => {
      await delay(Math.max(beginMs + atMs - hostMs(), 1));
      await fleet.deliver(place, { ...work, id: `tick${tick}-${at}`, scheduledMs: 0 }, work.election, death);
    }),
  );
  await fleet.deathsAreOver();
  const { deliveries, failedWrites, surprises } = fleet.witness;
  const of = (election: string) => ({
    deliveries: deliveries.filter((delivery) => delivery.election === election),
    failedWrites: failedWrites.filter((write) => write.election === election),
  });
  const bars = { leaseDurationMs: leaseMs, toleranceMs: await storeTolerance(service) };
  const problems = [
    ...surprises,
    ...checkReigns(deliveries),
    ...checkHolds(of(held).deliveries, minimumHoldMs),
    ...checkTurnedAway({ ...of(plain), ...bars }),
    ...checkTurnedAway({ ...of(held), ...bars, minimumHoldMs }),
  ];
  return {
    problems,
    figures: figuresOf(deliveries, fleet.killed),
    history: printHistory(deliveries, failedWrites) + fleet.stderr,
  };
}

function paceOf(store: StoreName): Pace {
  return store === "azure" ? AZURE : SHORT;
}

function planOf(
  dice: SeededRandom,
  { ticks, leaseMs, tickEveryMs, minimumHoldMs }: Pace,
  plain: string,
  held: string,
): PlannedDelivery[] {
  const networkFaults = { workMs: tickEveryMs / 2, leaseDurationMs: leaseMs, long: 0.05, failing: 0.05 };
  const quick = { ...networkFaults, workMs: minimumHoldMs / 4, long: 0, failing: 0 };
  const planned = [plain, held].flatMap((election) =>
    Array.from({ length: ticks * DELIVERIES_OF_A_TICK }, (_, at) => {
      const tick = Math.floor(at / DELIVERIES_OF_A_TICK);
      // Some come just when a hold is over.
      const spreadMs = dice.pick([0.1, 0.1, 1.1]) * minimumHoldMs;
      return {
        tick,
        election,
        place: Math.floor(dice.next() * WORKERS),
        atMs: tick * tickEveryMs + dice.between(0, spreadMs),
        ...workOf(dice, election === held ? quick : networkFaults),
      };
    }),
  );
  return withDeaths(dice, planned);
}
