import { expect, test } from "vitest";
import { electionOf, leaseKeys, leasePattern, occurrenceKeys } from "../src/keys.ts";

const NAMES = ["nightly-billing", "a}b", "{a}", "}", "%7B", "100%", "ünï/cödé", "a:fence", "x:tick:y", "*[?]\\^"];

test.each(NAMES)("the key of %s has one hash tag, and names the election", (name) => {
  const { record, fence } = leaseKeys("p:", name);
  expect(electionOf("p:", record)).toBe(name);
  expect(electionOf("p:", fence)).toBeUndefined();
  const tag = /\{([^}]*)\}/.exec(record)?.[1];
  expect(tag).not.toBe("");
  for (const key of [record, fence, occurrenceKeys("p:", name, "o").record]) expect(/\{([^}]*)\}/.exec(key)?.[1]).toBe(tag);
});

test("no key of an occurrence is the key of an election, whatever the occurrence is called", () => {
  for (const name of NAMES)
    for (const occurrence of NAMES) expect(electionOf("p:", occurrenceKeys("p:", name, occurrence).record)).toBeUndefined();
});

test("a key of another prefix, or with an escape that the encoding never makes, names no election", () => {
  for (const key of ["q:{a}", "p:{a", "p:a}", "p:{%41}", "p:{%7b}", "p:{}}"]) expect(electionOf("p:", key)).toBe(undefined);
});

test("a pattern takes the characters of a prefix and a name as they are", () => {
  expect(leasePattern("p*:", "a?[b]\\")).toBe(String.raw`p\*:{a\?\[b\]\\*}`);
});
