/** Tests members that are emptied one after the other, on a network that loses messages. */
import { Elector } from "@leasehold/core";
import { RecordLeaseStore } from "@leasehold/core/provider";
import { SeededRandom, type Passage } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { ELECTION, LEASE_MS, NAMES, World } from "./world.ts";

/** The share of requests that are lost, and of replies. */
const LOSS = 0.05;
const RUNS = 15;
const BETWEEN_LOSSES_MS = 4 * LEASE_MS;

/** Plays one run, in which two candidates compete. Returns whether one of them leads in the end. */
async function emptyInTurn(seed: number): Promise<boolean> {
  const random = new SeededRandom(seed);
  const world = await World.founded();
  world.passage = (): Passage => {
    if (random.chance(LOSS)) return { arrivals: [] };
    return { arrivals: [{ afterMs: 5, replyAfterMs: random.chance(LOSS) ? undefined : 5 }] };
  };
  const electors = ["one", "other"].map((candidateId) => {
    const { store, clock } = world.open(candidateId);
    const leases = new RecordLeaseStore(store, { clock });
    const elector = new Elector({ store: leases, election: ELECTION, candidateId, logger: false });
    void elector.run(async ({ ended }) => void (await ended));
    return elector;
  });
  const leads = (): boolean => electors.some(({ isLeader }) => isLeader);
  await world.clock.advance(2 * LEASE_MS);
  for (const name of NAMES) {
    world.empty(name);
    await world.clock.advance(BETWEEN_LOSSES_MS);
  }
  for (let times = 0; times < 8 && !leads(); times += 1) await world.clock.advance(LEASE_MS / 2);
  return leads();
}

test("a candidate leads after all members were emptied one after the other, while every twentieth message is lost", async () => {
  const stuck: number[] = [];
  for (let seed = 1; seed <= RUNS; seed += 1) if (!(await emptyInTurn(seed))) stuck.push(seed);

  expect(stuck).toEqual([]);
});
