/**
 * A few thousand elections in virtual time, checked after every step; `npm run simulate` runs as many as one likes. That
 * the checks catch what they are there for is shown by mutants.test.ts.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { warmUp } from "../../packages/dynamodb/test/simulated-service.ts";
import { readCommandLine } from "./command-line.ts";
import { drawPlan, type Plan } from "./plan.ts";
import { runSeeds } from "./seeds.ts";
import { shrink } from "./shrink.ts";
import { simulate } from "./simulation.ts";
import { STORE_KINDS, type StoreKind } from "./stores/stores.ts";
import { printTimeline } from "./timeline.ts";

/** The real SDKs take ten times as long. */
const RUNS: Readonly<Record<StoreKind, number>> = {
  records: 1_000,
  "records with a push": 800,
  "records with a clock": 800,
  blob: 150,
  dynamodb: 60,
};

beforeAll(warmUp);

describe.each(STORE_KINDS)("elections on %s", (store) => {
  test(`break nothing in ${RUNS[store]} runs`, { timeout: 240_000 }, async () => {
    const { violations, terms, runs } = await runSeeds({ first: 1, count: RUNS[store], stores: [store] });

    const [first] = violations;
    if (first) expect.fail(printTimeline(await simulate(await shrink(drawPlan(first.seed, [store])), { history: true })));
    // Nothing would be broken if nobody ever led, either.
    expect(terms).toBeGreaterThan(2 * runs);
  });

  test("are the same whenever they have the same seed, whether or not anybody keeps their history", async () => {
    for (const seed of [7, 8, 9]) {
      const [one, again, quiet] = [
        await simulate(drawPlan(seed, [store]), { history: true }),
        await simulate(drawPlan(seed, [store]), { history: true }),
        await simulate(drawPlan(seed, [store])),
      ];

      expect(again).toEqual(one);
      expect(quiet).toEqual({ ...one, history: [] });
      expect(one.history.length).toBeGreaterThan(10);
    }
  });
});

describe("a run whose clocks differ by more than is stated", () => {
  /** A leader whose clocks are slow by a half, and whom nobody answers any more. */
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
    [["--threads", "1.5"], "Option '--threads' is '1.5'"],
    [["--fast"], "--fast"],
  ])("%j is refused by name", (args, message) => {
    expect(() => readCommandLine(args)).toThrow(message);
  });
});
