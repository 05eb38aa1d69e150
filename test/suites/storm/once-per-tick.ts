import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { SeededRandom } from "@leasehold/core/testing";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import { openStore } from "@leasehold/test-kit/stores/stores";
import { checkOccurrences, type OccurrenceRecord } from "./check-occurrences.ts";
import { checkReigns } from "./check-terms.ts";
import { occurrenceId } from "./delivery.ts";
import { figuresOf, type Figures } from "./figures.ts";
import { Fleet } from "./fleet.ts";
import { printHistory } from "./history.ts";
import { deathOf, shuffled, withDeaths, workOf, type PlannedDelivery } from "./plan.ts";
import type { StoreSettings } from "@leasehold/test-kit/stores/test-store";

const WORKERS = 8;
const TICKS = 20;
const DELIVERIES = 200;
const TICK_EVERY_MS = 1_000;
/** Most deliveries of a tick come at about the same time, some a little later, and some so late that the tick should be done. */
const SPREADS_MS = [150, 150, 150, 150, 150, 150, 150, 1_500, 1_500, 8_000];
/** A short lease that still suffices for requests of new processes on a busy machine. */
const LEASE_MS = 3_000;
const PLATFORM_TIMEOUT_MS = 30_000;
const WEATHER = { workMs: 600, leaseDurationMs: LEASE_MS, long: 0.1, failing: 0.05 };
const RETENTION_MS = 86_400_000;
const BEGINNING_MS = Math.floor(Date.now() / 3_600_000) * 3_600_000;
/** The platform's wait before it delivers again. It doubles from the first to the longest. */
const BACK_OFF_MS = { first: 1_000, longest: 4_000 };
/** The most redeliveries of a delivery. Many leases expire in this time. */
const MOST_REDELIVERIES = 60;

/** The result of a storm. */
interface Verdict {
  /** The problems in words. Empty if there are none. */
  readonly problems: readonly string[];
  readonly figures: Figures;
  /** The history for people. */
  readonly history: string;
}

/**
 * 200 deliveries of 20 ticks to 8 workers. A third of their processes are killed. A delivery that died, failed or found another
 * at work is made again, as by a platform that delivers at least once. The storm ends when no delivery asks for more.
 */
export async function stormOncePerTick(service: StoreSettings, seed: number): Promise<Verdict> {
  const election = `storm-${randomUUID()}`;
  const dice = new SeededRandom(seed);
  const settings = { store: service, election, leaseDurationMs: LEASE_MS, remainingMs: PLATFORM_TIMEOUT_MS };
  await using fleet = await Fleet.gather(WORKERS, settings);
  const beginMs = hostMs();
  const again = { dice: new SeededRandom(dice.seed()), exhausted: [] as string[] };
  await Promise.all(
    planOf(dice).map(async (planned, at) => deliverUntilTaken(fleet, planned, `tick${planned.tick}-${at}`, beginMs, again)),
  );
  await fleet.deathsAreOver();
  const { deliveries, failedWrites, surprises } = fleet.witness;
  const records = await recordsOf(service, election);
  const problems = [
    ...surprises,
    ...again.exhausted,
    ...checkOccurrences({ records, deliveries, failedWrites }),
    ...checkReigns(deliveries),
  ];
  return {
    problems,
    figures: figuresOf(deliveries, fleet.killed),
    history: printHistory(deliveries, failedWrites) + fleet.stderr,
  };
}

function planOf(dice: SeededRandom): PlannedDelivery[] {
  const planned = Array.from({ length: DELIVERIES }, (_, at) => {
    const tick = at % TICKS;
    return {
      tick,
      place: Math.floor(dice.next() * WORKERS),
      atMs: tick * TICK_EVERY_MS + dice.between(0, dice.pick(SPREADS_MS)),
      ...workOf(dice, WEATHER),
    };
  });
  return withDeaths(dice, shuffled(dice, planned));
}

interface Again {
  readonly dice: SeededRandom;
  readonly exhausted: string[];
}

async function deliverUntilTaken(
  fleet: Fleet,
  planned: PlannedDelivery,
  id: string,
  beginMs: number,
  again: Again,
): Promise<void> {
  const { tick, place, atMs, death, fails, ...work } = planned;
  const { dice, exhausted } = again;
  const scheduledMs = BEGINNING_MS + tick * TICK_EVERY_MS;
  await delay(Math.max(beginMs + atMs - hostMs(), 1));
  let [toPlace, toDie] = [place, death];
  for (let redelivery = 0; redelivery <= MOST_REDELIVERIES; redelivery += 1) {
    const delivery = { ...work, fails: fails && redelivery === 0, id: `${id}.${redelivery}`, scheduledMs };
    const log = await fleet.deliver(toPlace, delivery, occurrenceId(scheduledMs), toDie);
    const { outcome } = log.settled ?? {};
    if (outcome === "ran" || outcome === "standby") return;
    toPlace = Math.floor(dice.next() * WORKERS);
    // The first delivery after a death dies as often.
    toDie = toDie && redelivery === 0 && dice.chance(1 / 3) ? deathOf(dice) : undefined;
    await delay(Math.min(BACK_OFF_MS.first * 2 ** redelivery, BACK_OFF_MS.longest) * dice.between(0.5, 1));
  }
  exhausted.push(`${id} was delivered ${MOST_REDELIVERIES} times more, and is not taken`);
}

/** Returns the records that a new process finds in the store. */
async function recordsOf(service: StoreSettings, election: string): Promise<OccurrenceRecord[]> {
  const { store, close } = await openStore(service);
  try {
    const occurrences = store.occurrences?.(election, { retentionMs: RETENTION_MS });
    const records: OccurrenceRecord[] = [];
    for (let tick = 0; tick < TICKS; tick += 1) {
      const id = occurrenceId(BEGINNING_MS + tick * TICK_EVERY_MS);
      const found = await occurrences?.read(id);
      records.push({ election: id, term: found?.term ?? 0, done: found?.bar?.kind === "done" });
    }
    return records;
  } finally {
    await close();
  }
}
