/** Random runs of servers that vote. `npm run simulate -- --voters` plays any number of runs. */
import { expect, test } from "vitest";
import { playVoters, type Played } from "./random-voters.ts";

const RUNS = 120;

test(`terms rise, no two lead at once, breaks and holds are kept, and a server leads in the end, in ${RUNS} runs`, async () => {
  const runs: Played[] = [];
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const run = await playVoters(seed);
    if (run.violation) expect.fail((await playVoters(seed, { history: true })).history.join("\n"));
    runs.push(run);
  }

  // Without promises or faults, a run could not fail, so each kind must have happened.
  for (const promise of ["terms", "renewals", "holds", "breaks", "transfers"] as const) {
    expect(runs.reduce((sum, { promises }) => sum + promises[promise], 0)).toBeGreaterThan(10);
  }
  const faults = new Set(runs.flatMap((run) => [...run.faults.keys()]));
  expect([...faults]).toEqual(
    expect.arrayContaining([
      ...["kept", "wiped", "older"].map((loss) => `killed, disk ${loss}`),
      ...["groups", "away", "deaf", "mute", "pairs", "links"].map((kind) => `split: ${kind}`),
      ...["frozen", "disk full", "list changed", "break", "transfer"],
    ]),
  );
});

test("a run with the same seed is the same, with or without its history", async () => {
  const [one, again, quiet] = [
    await playVoters(7, { history: true }),
    await playVoters(7, { history: true }),
    await playVoters(7),
  ];
  expect(again).toEqual(one);
  expect(quiet).toEqual({ ...one, history: [] });
  expect(one.history.length).toBeGreaterThan(10);
});
