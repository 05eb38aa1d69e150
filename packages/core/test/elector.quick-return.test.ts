import { describe, expect, test } from "vitest";
import { sleep } from "@leasehold/core/provider";
import { ElectionWorld, type Candidate } from "./election-world.ts";
import { Lines } from "./lines.ts";

/** Runs the task on each candidate for this time. Returns the instants at which its terms began. */
async function beginnings(
  world: ElectionWorld,
  candidates: readonly Candidate[],
  workMs: number,
  forMs: number,
): Promise<number[]> {
  const began: number[] = [];
  for (const { elector } of candidates) {
    void elector.run(async () => {
      began.push(world.clock.monotonicMs());
      if (workMs > 0) await sleep(world.clock, workMs);
    });
  }
  await world.clock.advance(forMs);
  for (const { elector } of candidates) void elector.stop();
  await world.clock.advance(60_000);
  return began;
}

describe("a task that returns at once", () => {
  test("causes a warning at the second time in a row, and at no later time", async () => {
    const world = new ElectionWorld();
    const logger = new Lines();
    await beginnings(world, [world.candidate("a", { logger })], 999, 60_000);

    expect(logger.warnings).toHaveLength(1);
    expect(logger.warnings[0]).toMatch(
      /has returned at once, twice in a row.*did you forget an await.*oncePerOccurrence.*run\(\) without a task/,
    );
  });

  test("causes no warning if it works for a second, is stopped, or returns at once only now and then", async () => {
    const logger = new Lines();
    for (const workMs of [1_000, 5_000]) {
      const world = new ElectionWorld();
      await beginnings(world, [world.candidate("a", { logger })], workMs, 60_000);
    }
    const world = new ElectionWorld();
    const { elector } = world.candidate("a", { logger });
    let calls = 0;
    void elector.run(async () => {
      calls += 1;
      if (calls % 2 === 0) await sleep(world.clock, 1_000);
    });
    await world.clock.advance(60_000);
    for (let round = 0; round < 3; round += 1) {
      void elector.resign();
      await world.clock.advance(10_000);
    }

    expect(calls).toBeGreaterThan(6);
    expect(logger.warnings).toEqual([]);
  });
});

describe("run without a task", () => {
  test("leads until it is stopped, and warns of nothing", async () => {
    const world = new ElectionWorld();
    const logger = new Lines();
    const { elector } = world.candidate("a", { logger });
    const run = elector.run();
    await world.clock.advance(600_000);
    expect(elector.isLeader).toBe(true);
    expect(elector.health().term).toBe(1);

    const stopped = elector.stop();
    await world.clock.advance(1_000);
    await Promise.all([run, stopped]);
    expect(elector.isLeader).toBe(false);
    expect(logger.warnings).toEqual([]);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("takes options, and campaigns again after a term that it gave up", async () => {
    const world = new ElectionWorld();
    const { elector } = world.candidate("a");
    const stop = new AbortController();
    const run = elector.run(undefined, { signal: stop.signal });
    await world.clock.advance(10_000);
    await elector.resign();
    await world.clock.advance(10_000);
    expect(elector.health()).toMatchObject({ leading: true, term: 2 });

    stop.abort();
    await world.clock.advance(1_000);
    await run;
  });
});
