/** Three servers with a leader, to which every message of theirs is sent again in any order. */
import { expect, test } from "vitest";
import { Elector, timing, type Leadership } from "@leasehold/core";
import { SeededRandom } from "@leasehold/core/testing";
import { VotingLeaseStore } from "../src/simulation.ts";
import { CAPABILITIES } from "../src/capabilities.ts";
import { Cluster } from "./cluster.ts";

const SEEDS = 20;
const LEASE_MS = 3_000;
const STEP_MS = 20;
const STEPS = 1_000;
const { crashFailoverMs, politeHandoverMs } = timing({ leaseDurationMs: LEASE_MS }, CAPABILITIES);

/** Plays one run, in which the leader is asked to resign now and then. Returns how many terms there were. */
async function play(seed: number): Promise<number> {
  const random = new SeededRandom(seed);
  const cluster = new Cluster();
  const { clock } = cluster;
  const led: Array<{ readonly elector: Elector; readonly leadership: Leadership }> = [];
  await cluster.start();
  for (const name of cluster.names) {
    const store = new VotingLeaseStore(cluster.server(name));
    const elector = new Elector({ store, clock, election: "e", leaseDurationMs: LEASE_MS, candidateId: name, logger: false });
    void elector.run(async (leadership) => {
      led.push({ elector, leadership });
      await new Promise((resolve) => leadership.signal.addEventListener("abort", resolve));
    });
  }
  let unledMs = 0;
  let resigned = 0;
  for (let step = 0; step < STEPS; step += 1) {
    const sent = [...cluster.sent];
    for (let count = 0; count < 4 && sent.length > 0; count += 1) {
      // Most of all the latest messages, which are about the present term.
      const message = random.pick(random.chance(0.7) ? sent.slice(-30) : sent);
      const isAsked = random.chance(0.1);
      // A claim that is sent again may ask for another preference, but never for a vote.
      void cluster.deliver(isAsked ? { ...message, toStart: undefined } : message);
    }
    await clock.advance(STEP_MS);
    const valid = led.filter(({ leadership }) => leadership.isValid());
    expect(valid.length, `seed ${seed}, step ${step}`).toBeLessThanOrEqual(1);
    unledMs = valid.length === 0 ? unledMs + STEP_MS : 0;
    expect(unledMs, `seed ${seed}, step ${step}`).toBeLessThanOrEqual(led.length === 0 ? crashFailoverMs : politeHandoverMs);
    if (valid[0] && random.chance(0.01)) {
      resigned += 1;
      void valid[0].elector.resign();
    }
  }
  // Only a leader that resigns makes room for another one.
  expect(led.length, `seed ${seed}`).toBeLessThanOrEqual(resigned + 1);
  return led.length;
}

test(`messages that arrive again, in any order, depose no leader and keep nobody from leading, in ${SEEDS} runs`, async () => {
  let terms = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) terms += await play(seed);
  expect(terms).toBeGreaterThan(2 * SEEDS);
});
