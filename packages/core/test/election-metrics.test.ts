import {
  electionMetrics,
  LATENESS_BOUNDS,
  REQUEST_BOUNDS,
  TAKEOVER_BOUNDS,
  type ElectionMeters,
} from "@leasehold/core/diagnostics";
import { MemoryLeaseStore, oncePerOccurrence } from "@leasehold/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { StubbornTask } from "@leasehold/test-kit/leader-tasks";
import { collectGarbage } from "./garbage.ts";
import { ElectionWorld, VALID_FOR_MS } from "./election-world.ts";

class Counted implements ElectionMeters {
  readonly all: Array<readonly [what: string, ...rest: readonly unknown[]]> = [];

  known(election: string): void {
    this.all.push(["known", election]);
  }

  transition(election: string, reason: string): void {
    this.all.push(["transition", election, reason]);
  }

  renewal(election: string, durationMs: number, outcome: string): void {
    this.all.push(["renewal", election, Math.round(durationMs), outcome]);
  }

  takeover(election: string, durationMs: number): void {
    this.all.push(["takeover", election, Math.round(durationMs)]);
  }

  overrun(election: string): void {
    this.all.push(["overrun", election]);
  }

  request({
    election,
    operation,
    outcome,
  }: {
    readonly election: string;
    readonly operation: string;
    readonly outcome: string;
  }): void {
    this.all.push(["request", election, operation, outcome]);
  }

  of(what: string): ReadonlyArray<readonly unknown[]> {
    return this.all.filter(([name]) => name === what).map(([, ...rest]) => rest);
  }
}

let world: ElectionWorld;
let counted: Counted;
let measurement: ReturnType<typeof electionMetrics>;

beforeEach(() => {
  world = new ElectionWorld();
  counted = new Counted();
  measurement = electionMetrics(counted);
});
afterEach(() => measurement.stop());

describe("measurements", () => {
  test("cover every elector that published anything, and none once they are stopped", async () => {
    const run = world.candidate("a", { latencyMs: 30 }).run();
    await world.clock.advance(6_000);

    const candidates = { standby: 0, leading: 1, ending: 0 };
    expect(measurement.elections()).toEqual([
      { election: ELECTION, isLeader: true, remainingMs: VALID_FOR_MS - 970, term: 1, candidates },
    ]);
    expect(counted.all[0]).toEqual(["known", ELECTION]);
    expect(counted.of("known")).toHaveLength(1);
    expect(counted.of("transition")).toEqual([[ELECTION, "elected"]]);
    expect(counted.of("renewal")).toEqual([[ELECTION, 30, "ok"]]);
    expect(counted.of("request")).toEqual([
      [ELECTION, "get", "ok"],
      [ELECTION, "put", "ok"],
      [ELECTION, "put", "ok"],
    ]);

    measurement.stop();
    counted.all.length = 0;
    run.stop();
    await world.clock.runUntil(run.settled);
    expect(counted.all).toEqual([]);
    expect(measurement.elections()).toEqual([]);
  });

  test("cover all candidates of an election, one of which leads", async () => {
    const runs = ["a", "b"].map((id) => world.candidate(id).run());
    await world.clock.advance(1_000);

    const candidates = { standby: 1, leading: 1, ending: 0 };
    expect(measurement.elections()).toMatchObject([{ election: ELECTION, isLeader: true, term: 1, candidates }]);
    for (const { stop, settled } of runs) {
      stop();
      await world.clock.runUntil(settled);
    }
    expect(measurement.elections()).toMatchObject([{ term: undefined, candidates: { standby: 0, leading: 0, ending: 0 } }]);
  });

  test("never show a leader that has thawed after its lease, because they are computed at each read", async () => {
    const run = world.candidate("a").run();
    await world.clock.advance(1_000);
    expect(measurement.elections()).toMatchObject([{ isLeader: true }]);

    // No timer runs during the freeze.
    world.clock.freeze(LEASE_MS);

    const candidates = { standby: 0, leading: 0, ending: 1 };
    expect(measurement.elections()).toEqual([
      { election: ELECTION, isLeader: false, remainingMs: 0, term: undefined, candidates },
    ]);
    run.stop();
    await world.clock.runUntil(run.settled);
    expect(counted.of("transition")).toEqual([
      [ELECTION, "elected"],
      [ELECTION, "expired"],
    ]);
  });

  test("show a leader until its last millisecond", async () => {
    const run = world.candidate("a").run();
    await world.clock.advance(1_000);
    world.clock.freeze(VALID_FOR_MS - 1_001);
    expect(measurement.elections()).toMatchObject([{ isLeader: true, remainingMs: 1, term: 1 }]);
    run.stop();
    await world.clock.runUntil(run.settled);
  });

  test("name the reason of each end", async () => {
    const a = world.candidate("a", { cooldownMs: 0 });
    const settles = a.run(() => undefined);
    await world.clock.advance(50);
    settles.stop();
    await world.clock.runUntil(settles.settled);
    const run = a.run();
    await world.clock.advance(1_000);
    void a.elector.resign();
    await world.clock.advance(5_000);
    run.stop(new Error("shutting down"));
    await world.clock.runUntil(run.settled);

    expect(counted.of("transition").map(([, reason]) => reason)).toEqual([
      "elected",
      "settled",
      "elected",
      "resigned",
      "elected",
      "stopped",
    ]);
  });

  test("count a failed renewal by its code, and one that found its lease broken by the loss", async () => {
    const a = world.candidate("a");
    const run = a.run();
    await world.clock.advance(1_000);
    a.records.failNext("put", { kind: "throttled", retryAfterMs: 200 });
    await world.clock.advance(5_000);
    await a.store.break(ELECTION, { reason: "enough" });
    await world.clock.advance(5_000);

    expect(counted.of("renewal").map(([, , outcome]) => outcome)).toEqual(["STORE_THROTTLED", "ok", "broken"]);
    run.stop();
    await world.clock.runUntil(run.settled);
  });

  test("count an overrun", async () => {
    const a = world.candidate("a", { drainTimeoutMs: 1_000 });
    const task = new StubbornTask();
    const run = a.run(task.run);
    await world.clock.advance(1_000);
    run.stop();
    await world.clock.advance(2_000);

    expect(counted.of("overrun")).toEqual([[ELECTION]]);
    task.settle();
  });

  test("come under the schedule's name for its occurrences", async () => {
    const store = new MemoryLeaseStore({ clock: world.clock });
    await world.clock.runUntil(
      oncePerOccurrence({ store, name: "nightly", scheduledAt: world.clock.wallMs(), logger: false }, () => undefined),
    );

    expect(counted.all.length).toBeGreaterThan(3);
    expect(new Set(counted.all.map(([, election]) => election))).toEqual(new Set(["nightly"]));
    expect(measurement.elections()).toMatchObject([{ election: "nightly", isLeader: false, remainingMs: 0 }]);
  });

  test("keep no elector alive, and forget collected electors", async () => {
    const sets: Array<ReadonlySet<unknown>> = [];
    class TrackedSet<T> extends Set<T> {
      constructor(values?: Iterable<T> | null) {
        super(values);
        sets.push(this);
      }
    }
    vi.stubGlobal("Set", TrackedSet);
    const another = electionMetrics(counted);
    vi.unstubAllGlobals();
    for (let at = 0; at < 500; at += 1) {
      const run = world.candidate("a", { election: `e${at}` }).run(() => undefined);
      await world.clock.advance(1_000);
      run.stop();
      await world.clock.runUntil(run.settled);
    }
    await collectGarbage();

    // Objects of the last turns may still be referenced.
    expect(another.elections().length).toBeLessThan(20);
    expect(sets.length).toBe(1);
    // V8 runs the finalization callbacks in a turn of its own choice.
    const largest = async (): Promise<number> => {
      await collectGarbage();
      return Math.max(...sets.map(({ size }) => size));
    };
    await expect.poll(largest).toBeLessThan(20);
    another.stop();
  });
});

describe("a takeover", () => {
  test("from a leader that died is measured from its last observed renewal", async () => {
    const a = world.candidate("a");
    void a.run();
    await world.clock.advance(1_000);
    const run = world.candidate("b").run();
    await world.clock.advance(10_000);
    expect(counted.of("takeover")).toEqual([]);
    a.records.failAll({ kind: "lost" });
    await world.clock.advance(2 * LEASE_MS);

    const [[, durationMs] = []] = counted.of("takeover");
    expect(durationMs).toBeGreaterThanOrEqual(LEASE_MS);
    expect(durationMs).toBeLessThan(LEASE_MS + 500);
    run.stop();
    await world.clock.runUntil(run.settled);
  });

  test("from a leader that released is measured from the last poll that showed it", async () => {
    const first = world.candidate("a").run();
    await world.clock.advance(1_000);
    const run = world.candidate("b").run();
    await world.clock.advance(LEASE_MS);
    first.stop();
    await world.clock.advance(LEASE_MS);

    const [[, durationMs] = []] = counted.of("takeover");
    expect(durationMs).toBeGreaterThan(0);
    expect(durationMs).toBeLessThan(4_500);
    run.stop();
    await world.clock.runUntil(run.settled);
  });

  test("from itself after an outage is measured from its last renewal", async () => {
    const a = world.candidate("a");
    const run = a.run();
    await world.clock.advance(10_500);
    a.records.failAll({ kind: "unavailable" });
    await world.clock.advance(20_000);
    a.records.heal();
    await world.clock.advance(5_000);

    // It renewed 10 s after it began to lead.
    const [[, durationMs] = []] = counted.of("takeover");
    expect(durationMs).toBeGreaterThanOrEqual(20_500);
    expect(durationMs).toBeLessThanOrEqual(25_500);
    run.stop();
    await world.clock.runUntil(run.settled);
  });

  test("from itself is measured from its release", async () => {
    const a = world.candidate("a", { cooldownMs: 0 });
    const run = a.run();
    await world.clock.advance(22_000);
    void a.elector.resign();
    await world.clock.advance(5_000);

    expect(counted.of("takeover")).toEqual([[ELECTION, 100]]);
    run.stop();
    await world.clock.runUntil(run.settled);
  });
});

test.each([
  { of: "requests", bounds: REQUEST_BOUNDS, from: 0.005, to: 10, times: 2.5 },
  { of: "takeovers", bounds: TAKEOVER_BOUNDS, from: 0.1, to: 120, times: 2.5 },
  { of: "lateness", bounds: LATENESS_BOUNDS, from: 0.1, to: 86_400, times: 6 },
])("the bounds of $of rise from $from to $to s, each to at most $times times the one before", ({ bounds, from, to, times }) => {
  expect([bounds[0], bounds.at(-1)]).toEqual([from, to]);
  for (const [at, bound] of bounds.slice(1).entries()) {
    expect(bound).toBeGreaterThan(bounds[at]!);
    expect(bound).toBeLessThanOrEqual(times * bounds[at]!);
  }
});
