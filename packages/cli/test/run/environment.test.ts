import type { Leadership } from "@leasehold/core";
import { expect, test } from "vitest";
import { environmentOf, withoutSecrets } from "../../src/run/term.ts";

const LEADERSHIP = { election: "e", term: 7, termId: "own", candidateId: "me" } as Leadership;

test("a command's environment has its term, and the outer terms in which its wrapper runs", () => {
  const own = {
    LEASEHOLD_ELECTION: "e",
    LEASEHOLD_TERM: "7",
    LEASEHOLD_TERM_ID: "own",
    LEASEHOLD_CANDIDATE_ID: "me",
  };
  expect(environmentOf(LEADERSHIP, {})).toEqual(own);
  expect(environmentOf(LEADERSHIP, { LEASEHOLD_TERM_ID: "b" })).toEqual({ ...own, LEASEHOLD_OUTER_TERM_IDS: "b" });
  const outer = { LEASEHOLD_TERM_ID: "b", LEASEHOLD_OUTER_TERM_IDS: "a" };
  expect(environmentOf(LEADERSHIP, outer)).toEqual({ ...own, LEASEHOLD_OUTER_TERM_IDS: "b,a" });
});

test("a command's environment has no secrets of the store", () => {
  const secrets = { LEASEHOLD_STORE: "postgres://me:pa55@host/db", LEASEHOLD_VOTING_SECRET: "s", LEASEHOLD_TOKEN: "t" };
  expect(withoutSecrets({ ...secrets, HOME: "/", LEASEHOLD_ELECTION: "outer" })).toEqual({
    HOME: "/",
    LEASEHOLD_ELECTION: "outer",
  });
});
