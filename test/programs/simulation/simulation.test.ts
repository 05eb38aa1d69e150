/**
 * A hundred elections in virtual time, checked after every step. `npm run simulate` runs any number. The checks themselves are
 * tested by mutants.long.test.ts.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { warmUp } from "@leasehold/test-kit/simulated/dynamodb-service";
import { readCommandLine } from "./command-line.ts";
import type { Mishap } from "./faults/faults.ts";
import { drawPlan, type Plan } from "./plan.ts";
import { runSeeds } from "./seeds.ts";
import { shrink } from "./shrink.ts";
import { simulate } from "./simulation.ts";
import { clockMayStep, STORE_KINDS, type StoreKind } from "./stores/stores.ts";
import { printTimeline } from "./timeline.ts";

/** A first sign for `npm test`: the gate runs thousands by `npm run simulate`. The real SDKs take ten times as long. */
const RUNS: Readonly<Record<StoreKind, number>> = {
  records: 30,
  "records with a push": 30,
  "records with a clock": 30,
  redis: 10,
  objects: 10,
  kubernetes: 10,
  blob: 4,
  dynamodb: 3,
  etcd: 5,
  voting: 5,
  quorum: 8,
  "quorum with clocks": 5,
};

beforeAll(warmUp);

describe.each(STORE_KINDS)("elections on %s", (store) => {
  test(`break nothing in ${RUNS[store]} runs`, async () => {
    const { violations, terms, runs } = await runSeeds({ first: 1, count: RUNS[store], stores: [store] });

    const [first] = violations;
    if (first) expect.fail(printTimeline(await simulate(await shrink(drawPlan(first.seed, [store])), { history: true })));
    // A run without any leader would break nothing either.
    expect(terms).toBeGreaterThan(2 * runs);
  });

  test("are the same whenever they have the same seed, whether or not anybody keeps their history", async () => {
    const one = await simulate(drawPlan(7, [store]), { history: true });
    const again = await simulate(drawPlan(7, [store]), { history: true });
    const quiet = await simulate(drawPlan(7, [store]));

    expect(again).toEqual(one);
    expect(quiet).toEqual({ ...one, history: [] });
    expect(one.history.length).toBeGreaterThan(10);
  });
});

describe("the plans of two thousand seeds", () => {
  const plans = Array.from({ length: 2_000 }, (_, seed) => drawPlan(seed));
  const candidates = plans.flatMap((plan) => plan.candidates);
  const seenIn = (values: readonly unknown[]): Set<unknown> => new Set(values);

  test("let every clock be wrong that may be, and the store's only where no wall clock is", () => {
    const stepping = plans.filter(({ store }) => clockMayStep(store));
    expect(seenIn(stepping.map(({ wrongClocks }) => wrongClocks))).toEqual(new Set(["walls", "one wall", "store", "all"]));

    const relied = plans.filter(({ wrongClocks, mishaps }) => mishaps.some(isClockMishap) && wrongClocks !== "all");
    expect(relied.length).toBeGreaterThan(20);
    for (const plan of relied) {
      expect(plan.mishaps.some(({ kind }) => kind === "wall-clock-jump")).toBe(false);
      for (const { wallOffsetMs } of plan.candidates) expect(Math.abs(wallOffsetMs)).toBeLessThanOrEqual(10);
    }
  });

  test("have nobody go by the store's clock where all clocks may be wrong", () => {
    const wrong = plans.filter(({ wrongClocks }) => wrongClocks === "all");
    expect(wrong.length).toBeGreaterThan(20);
    for (const { candidates: all, mishaps } of wrong) {
      expect(seenIn(all.map(({ expiry }) => expiry))).not.toContain("store-clock");
      expect(mishaps.some(({ kind }) => kind === "cold-call" || kind === "tick")).toBe(false);
    }
  });

  test("draw unlike options, shared processes, bystanders, and a control plane that does not answer", () => {
    const options = seenIn(candidates.flatMap((candidate) => Object.keys(candidate.options)));
    expect(options.size).toBe(8);
    expect(candidates.some(({ livesWith }) => livesWith !== undefined)).toBe(true);
    expect(candidates.some(({ lodges }) => lodges !== undefined)).toBe(true);
    expect(candidates.some(({ observes }) => observes)).toBe(true);
    const onDynamoDB = Array.from({ length: 200 }, (_, seed) => drawPlan(seed, ["dynamodb"]));
    expect(seenIn(onDynamoDB.map(({ controlPlane }) => controlPlane)).size).toBe(6);
  });
});

function isClockMishap({ kind }: Mishap): boolean {
  return kind === "store-clock-step" || kind === "clock-failover";
}

describe("a run whose clocks differ by more than is stated", () => {
  /** A plan with a leader whose clocks are slow by a half, and that no service answers any more. */
  const unfair = (seed: number): Plan => {
    const plan = drawPlan(seed, ["records"]);
    const [first, ...others] = plan.candidates.map((candidate) => ({ ...candidate, rate: 1, wallRate: 1 }));
    return {
      ...plan,
      asks: true,
      candidates: [{ ...first!, rate: 0.5, wallRate: 0.5 }, ...others],
      mishaps: [...plan.mishaps, { atMs: plan.timing.leaseDurationMs, kind: "partition", who: 0, forMs: 1e6, side: "both" }],
      calmAtMs: 6 * plan.timing.leaseDurationMs,
    };
  };

  test("is caught, shrunk to what it takes, and shown with what was broken", async () => {
    const seeds = Array.from({ length: 30 }, (_, index) => index);
    const reports = await Promise.all(seeds.map((seed) => simulate(unfair(seed))));
    const broken = reports.find(({ violation }) => violation?.invariant === "lease-covers-validity");
    if (!broken) expect.fail("None of them was caught.");

    const smallest = await shrink(broken.plan);
    const { violation, history, plan } = await simulate(smallest, { history: true });
    expect(violation?.invariant).toBe("lease-covers-validity");
    expect(plan.mishaps.length).toBeLessThanOrEqual(broken.plan.mishaps.length);
    expect(plan.candidates[0]!.rate).toBe(0.5);
    const shown = printTimeline({ ...broken, plan, history, violation });
    expect(shown).toContain("rate 0.5");
    expect(shown).toContain("startedLeading term");
    expect(shown.split("\n").at(-1)).toMatch(/^broken: lease-covers-validity: c0 is valid in term \d+$/);
  });
});

describe("a wrong argument", () => {
  test.each([
    [["--runs", "0"], "Option '--runs' is '0'"],
    [["--runs", "many"], "Option '--runs' is 'many'"],
    [["--seed", "-1"], "--seed"],
    [["--store", "paper"], "Option '--store' is 'paper'; it must be one of records,"],
    [["--mutants", "--store", "blob"], "does not go with '--mutants'"],
    [["--voters", "--store", "blob"], "does not go with '--store'"],
    [["--voters", "--mutants"], "does not go with '--mutants'"],
    [["--voters", "--failovers"], "does not go with '--failovers'"],
    [["--threads", "1.5"], "Option '--threads' is '1.5'"],
    [["--fast"], "--fast"],
  ])("%j is refused by name", (args, message) => {
    expect(() => readCommandLine(args)).toThrow(message);
  });
});
