/** Random failovers of servers that vote. `npm run simulate -- --failovers` plays any number of runs. */
import { expect, test } from "vitest";
import { playFailover } from "./random-failovers.ts";

const RUNS = 150;

test(`a server leads within the time that timing() gives, and goes on, in ${RUNS} failovers`, { timeout: 120_000 }, async () => {
  const faults = new Set<string>();
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const run = await playFailover(seed);
    if (run.violation) expect.fail((await playFailover(seed, { history: true })).history.join("\n"));
    for (const fault of run.faults.keys()) faults.add(fault);
  }
  expect([...faults].toSorted()).toEqual(["dies", "is started again", "stops"]);
});

test("a failover with the same seed is the same", async () => {
  const [one, again, quiet] = [
    await playFailover(7, { history: true }),
    await playFailover(7, { history: true }),
    await playFailover(7),
  ];
  expect(again).toEqual(one);
  expect(quiet).toEqual({ ...one, history: [] });
  expect(one.history.length).toBeGreaterThan(5);
});
