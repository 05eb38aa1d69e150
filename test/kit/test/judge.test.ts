import { expect, test } from "vitest";
import { judge, overlapMs, type LedTerm } from "../judge.ts";

function led(candidateId: string, term: number, fromMs: number, toMs: number): LedTerm {
  return { candidateId, term, fromMs, toMs };
}

test("an overlap is the sum over all pairs, between two instants alone", () => {
  const spans = [
    { fromMs: 0, toMs: 100 },
    { fromMs: 200, toMs: 300 },
  ];
  expect(overlapMs([])).toBe(0);
  expect(overlapMs([...spans, { fromMs: 100, toMs: 200 }])).toBe(0);
  expect(overlapMs([...spans, { fromMs: 90, toMs: 210 }])).toBe(20);
  expect(overlapMs([...spans, { fromMs: 90, toMs: Infinity }])).toBe(110);
  expect(overlapMs([...spans, { fromMs: 90, toMs: Infinity }], 95, 250)).toBe(55);
});

test.each<readonly [string, readonly LedTerm[], readonly string[]]>([
  ["terms one after another", [led("b", 2, 100, 200), led("a", 1, 0, 100), led("b", 4, 300, 400)], []],
  ["two at once", [led("a", 1, 0, 100), led("b", 2, 93, 200)], ["a in term 1 and b in term 2 were valid at once for 7.0 ms"]],
  ["a term that fell", [led("a", 2, 0, 100), led("b", 1, 200, 300)], ["b in term 1 came after a in term 2"]],
  ["a term of two", [led("a", 1, 0, 100), led("b", 1, 200, 300)], ["a in term 1 and b in term 1 had the same term"]],
])("a history of %s has these faults", (_, ledTerms, faults) => {
  expect(judge(ledTerms)).toEqual(faults);
});

test("a term that two were given is a fault, also if only one of them led in it", () => {
  const granted = [led("a", 1, 0, 100), { candidateId: "b", term: 1 }];
  expect(judge([led("a", 1, 0, 100)], granted)).toEqual(["a in term 1 and b in term 1 had the same term"]);
});
