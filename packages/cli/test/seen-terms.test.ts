import type { Leader } from "@leasehold/core";
import { expect, test } from "vitest";
import { SeenTerms } from "../src/serve/seen-terms.ts";

function leader(candidateId: string, term: number): Leader {
  return { candidateId, term, state: "held" };
}

test("a term lasts until nobody leads, or the next one begins", () => {
  const terms = new SeenTerms();
  terms.saw(undefined, 0);
  terms.saw(leader("a", 1), 1_000);
  terms.saw(undefined, 5_000);
  terms.saw(undefined, 6_000);
  terms.saw(leader("b", 2), 7_000);
  terms.saw(leader("c", 3), 9_000);
  expect(terms.at(10_000)).toEqual([
    { term: 1, candidateId: "a", sinceMs: 9_000, endedMs: 5_000 },
    { term: 2, candidateId: "b", sinceMs: 3_000, endedMs: 1_000 },
    { term: 3, candidateId: "c", sinceMs: 1_000 },
  ]);
});

test("a term that is observed again goes on, and the oldest of many terms are dropped", () => {
  const terms = new SeenTerms();
  terms.saw(leader("a", 1), 0);
  terms.saw(undefined, 1_000);
  terms.saw(leader("a", 1), 2_000);
  expect(terms.at(3_000)).toEqual([{ term: 1, candidateId: "a", sinceMs: 3_000 }]);

  for (let term = 2; term <= 60; term += 1) terms.saw(leader("a", term), term * 1_000);
  expect(terms.at(60_000).map(({ term }) => term)).toEqual(Array.from({ length: 50 }, (_, at) => at + 11));
});

test("terms from before the start come from the record's history, each before the next one, with the reason of its end", () => {
  const terms = new SeenTerms();
  const history = [
    { term: 3, candidateId: "a", sinceMs: 1_000, untilMs: 4_000, end: "released" },
    // The clock of this candidate was ahead.
    { term: 4, candidateId: "b", sinceMs: 9_900_000, end: "expired" },
    { term: 5, candidateId: "c", sinceMs: 7_000 },
  ] as const;
  terms.recall(history, 0, 9_000);
  expect(terms.at(0)).toEqual([]);

  terms.saw(leader("c", 5), 0);
  for (const _again of [1, 2]) terms.recall(history, 0, 9_000);
  expect(terms.at(0)).toEqual([
    { term: 3, candidateId: "a", sinceMs: 8_000, endedMs: 5_000, end: "released" },
    { term: 4, candidateId: "b", sinceMs: 2_000, endedMs: 2_000, end: "expired" },
    { term: 5, candidateId: "c", sinceMs: 2_000 },
  ]);
});
