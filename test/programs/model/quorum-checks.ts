import type { Check } from "./check.ts";

type QuorumCheck = Omit<Check, "model">;

const FORK = "two writes replace the same one";
const TWO_OF_ONE_BALLOT = "two writes have one ballot";
const NEVER_CHOSEN = "a get answers what was never chosen";
const TURNED_DOWN = "a put is told that it was not stored, and is";

const NO_GETS = "NO_GETS";
const NO_LATE = "NO_LATE";
const PATIENT = "PATIENT";
const FORGETS = "FORGETS";
const FIRST_ROUND = "LAST_BALLOT=5";

/** The replicated record as it is, in parts that are small enough for every day. */
const RIGHT: readonly QuorumCheck[] = [
  {
    name: "a majority: looks, and members that are silent",
    macros: [FIRST_ROUND, "LOOKS", NO_LATE],
    shows: ["a look finds a split", "a put without a prepare"],
  },
  { name: "a majority: gets, and members that are silent", macros: [FIRST_ROUND, NO_LATE], shows: ["a split is found"] },
  {
    name: "a majority: one member forgets, the others answer",
    macros: [FIRST_ROUND, PATIENT, FORGETS],
    shows: ["a member is rolled back", "a member is wiped", "a member that had forgotten is taken back"],
  },
  {
    name: "a majority: one member is wiped, and others are silent",
    macros: [FIRST_ROUND, NO_GETS, NO_LATE, FORGETS, "WIPED_ONLY"],
    shows: ["a member is known to have forgotten", "a member that had forgotten is taken back"],
  },
  {
    name: "a majority: writes that arrive late",
    macros: [FIRST_ROUND, NO_GETS],
    shows: [
      "a member is caught up",
      "a put that every member refuses was not sent",
      "a put whose write was sent finds another in its place",
    ],
  },
  {
    name: "a majority: rounds that follow each other",
    macros: ["LAST_BALLOT=8", PATIENT],
    shows: ["a get completes a split", "a put finds its own write chosen"],
  },
];

const LONG: readonly QuorumCheck[] = [
  { name: "a majority: everything but forgetting", macros: [FIRST_ROUND] },
  { name: "a majority: two rounds of writes that arrive late", macros: ["LAST_BALLOT=6", NO_GETS] },
  { name: "a majority: two rounds of looks", macros: ["LAST_BALLOT=6", "LOOKS", NO_LATE] },
  { name: "a majority: two rounds of gets while one member forgets", macros: ["LAST_BALLOT=6", PATIENT, FORGETS] },
  {
    name: "a majority: two puts of one candidate, and three rounds",
    macros: ["LAST_BALLOT=8", "PUTS_A=2", PATIENT],
    shows: ["a put cannot tell what became of it"],
  },
];

/** The replicated record with one rule broken. */
const WRONG: readonly QuorumCheck[] = [
  {
    name: "an accept promises no further ballot",
    macros: ["LAST_BALLOT=7", PATIENT, "NO_FORWARD_PROMISE"],
    violates: FORK,
    tells: true,
  },
  { name: "one ballot for two writes", macros: [FIRST_ROUND, PATIENT, "ONE_BALLOT_FOR_TWO"], violates: TWO_OF_ONE_BALLOT },
  {
    name: "a put without a prepare after one's own repair",
    macros: ["LAST_BALLOT=8", PATIENT, "FAST_AFTER_REPAIR"],
    violates: FORK,
  },
  { name: "such a put is conditional on what was read", macros: [FIRST_ROUND, PATIENT, "FAST_ON_WHAT_IS_READ"], violates: FORK },
  {
    name: "a member that has promised more is caught up",
    macros: [FIRST_ROUND, NO_GETS, NO_LATE, "CATCHES_UP_OVER_PROMISES"],
    violates: FORK,
  },
  { name: "a minority is read", macros: [FIRST_ROUND, NO_LATE, "PUTS_B=0", "READS_MINORITY"], violates: NEVER_CHOSEN },
  {
    name: "a put is turned down after an accept",
    macros: ["LAST_BALLOT=7", PATIENT, "TURNED_DOWN_AFTER_ACCEPT"],
    violates: TURNED_DOWN,
  },
  {
    name: "a prepare ignores a refusal, and one forgets",
    macros: [FIRST_ROUND, PATIENT, FORGETS, "IGNORES_REFUSAL"],
    violates: FORK,
  },
  {
    name: "a wiped member counts as any other",
    macros: [FIRST_ROUND, NO_GETS, NO_LATE, FORGETS, "WIPED_ONLY", "IGNORES_FORGETTING"],
    violates: FORK,
  },
  {
    name: "one forgets what nobody noticed, and another is silent",
    macros: [FIRST_ROUND, NO_GETS, NO_LATE, FORGETS, "UNNOTICED"],
    violates: FORK,
    tells: true,
  },
];

export const QUORUM_RIGHT: readonly Check[] = ofQuorum(RIGHT);
/** These take minutes where the machine is busy. */
export const QUORUM_LONG: readonly Check[] = ofQuorum(LONG);
export const QUORUM_WRONG: readonly Check[] = ofQuorum(WRONG);

function ofQuorum(some: readonly QuorumCheck[]): readonly Check[] {
  return some.map((check) => ({ ...check, model: "quorum" }));
}
