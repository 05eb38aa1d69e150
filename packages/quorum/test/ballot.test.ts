import { describe, expect, test } from "vitest";
import { compareBallots, highest, type Ballot } from "../src/ballot.ts";
import { ageOf } from "../src/chosen.ts";
import { NOTHING, type MemberState } from "../src/member-state.ts";
import { recordOf } from "./world.ts";

const ballot = (round: number, proposer: string): Ballot => ({ round, proposer });

describe("ballots", () => {
  const RISING = [undefined, ballot(1, "a"), ballot(1, "b"), ballot(2, "a"), ballot(10, "a")];

  test("are ordered by round, then by proposer, and undefined comes first", () => {
    for (const [at, one] of RISING.entries()) {
      for (const [other, another] of RISING.entries()) {
        expect(Math.sign(compareBallots(one, another)), `${at} and ${other}`).toBe(Math.sign(at - other));
      }
    }
    expect(highest([...RISING, ...RISING.toReversed()])).toEqual(ballot(10, "a"));
    expect(highest([undefined])).toBeUndefined();
    expect(highest([])).toBeUndefined();
  });
});

describe("the newest state", () => {
  const keptBy = (round: number, nonce: string, ageMs?: readonly [number, number]): MemberState => ({
    ...NOTHING,
    accepted: ballot(round, "a"),
    proposal: { write: nonce, base: null, record: recordOf(nonce) },
    ageMs,
  });

  test("is at least as old as every member of some majority shows, and at most as old as any member shows", () => {
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
