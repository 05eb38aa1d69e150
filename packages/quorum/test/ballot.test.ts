import { describe, expect, test } from "vitest";
import { compareBallots, forward, highest, type Ballot } from "../src/ballot.ts";
import { ageOf, topOf } from "../src/chosen.ts";
import { NOTHING, type Kept } from "../src/kept.ts";
import { recordOf } from "./world.ts";

const ballot = (round: number, proposer: string): Ballot => ({ round, proposer });

describe("ballots", () => {
  const RISING = [undefined, ballot(1, "a"), ballot(1, "b"), ballot(2, "a"), ballot(10, "a")];

  test("are ordered by round, then by who proposes, and nothing comes before all", () => {
    for (const [at, one] of RISING.entries()) {
      for (const [other, another] of RISING.entries()) {
        expect(Math.sign(compareBallots(one, another)), `${at} and ${other}`).toBe(Math.sign(at - other));
      }
    }
    expect(highest([...RISING, ...RISING.toReversed()])).toEqual(ballot(10, "a"));
    expect(highest([undefined])).toBeUndefined();
    expect(highest([])).toBeUndefined();
  });

  test("lie one round before what an accept under them promises", () => {
    expect(forward(ballot(4, "a"))).toEqual(ballot(5, "a"));
  });
});

describe("what members keep", () => {
  const keptBy = (round: number, nonce: string, ageMs?: readonly [number, number]): Kept => ({
    ...NOTHING,
    accepted: ballot(round, "a"),
    proposal: { write: nonce, base: null, record: recordOf(nonce) },
    ageMs,
  });

  test("is told by the highest ballot that was accepted, wherever it stands", () => {
    const [low, high] = [keptBy(1, "low"), keptBy(2, "high")];
    for (const order of [
      [low, high],
      [high, low],
    ]) {
      expect(topOf(new Map(order.map((kept, at) => [`${at}`, kept])))).toBe(high);
    }
    expect(topOf(new Map([["a", NOTHING]]))).toBeUndefined();
  });

  test("is as old as the majority shows that shows most, and at most as any member does", () => {
    const of = (...ages: Array<readonly [number, number] | undefined>) =>
      ageOf(
        { write: "w", base: null, record: recordOf("n") },
        new Map(ages.map((ageMs, at) => [`${at}`, keptBy(1, "n", ageMs)])),
        2,
      );
    expect(of([3, 4], [10, 12], [5, 20])).toEqual([5, 20]);
    expect(of([3, 4], undefined, [5, 6])).toEqual([3, 6]);
    expect(of([3, 4], undefined, undefined)).toBeUndefined();
    const others = new Map([
      ["a", keptBy(1, "n", [3, 4])],
      ["b", keptBy(1, "another", [9, 9])],
      ["c", NOTHING],
    ]);
    expect(ageOf({ write: "w", base: null, record: recordOf("n") }, others, 2)).toBeUndefined();
  });
});
