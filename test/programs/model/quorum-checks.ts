import { TWO_VALID, type Check, type Model } from "./check.ts";

type QuorumCheck = Omit<Check, "model">;

const FORK = "two writes replace the same one";
const TWO_OF_ONE_BALLOT = "two writes have one ballot";
const NEVER_CHOSEN = "a get answers what was never chosen";
const TURNED_DOWN = "a put is told that it was not stored, and is";

const NO_GETS = "NO_GETS";
const NO_LATE = "NO_LATE";
const NO_LOST_REPLIES = "NO_LOST_REPLIES";
const PATIENT = "PATIENT";
const FORGETS = "FORGETS";
const FIRST_ROUND = "LAST_BALLOT=5";

/** The unbroken replicated record, in parts that are small enough for every change. */
const RIGHT: readonly QuorumCheck[] = [
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
  { name: "a majority: two rounds of reads", macros: ["LAST_BALLOT=6", "LOOKS", NO_LATE] },
  { name: "a majority: two rounds of gets while one member forgets", macros: ["LAST_BALLOT=6", PATIENT, FORGETS] },
  {
    name: "a majority: two puts of one candidate, and three rounds",
    macros: ["LAST_BALLOT=8", "PUTS_A=2", PATIENT],
    shows: ["a put cannot tell what became of it"],
  },
  {
    name: "a majority: reads, and members that are silent",
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

const TWO_LISTS = "two lists of members replace the same one";
const STUCK = "all members answer, and too few count";
const FEW = ["LAST_BALLOT=6", "LAST_ROSTER_BALLOT=5"];
/** Two processes with different stores claim a quorum. They share one store, or two. */
const CLAIMED = ["LAST_ROSTER=4", "FOUNDING", "NO_ELECTION", NO_LATE];
const ONE_SHARED = [...CLAIMED, "SHARES_ONE"];
const TWO_SHARED = [...CLAIMED, "REPLACED", "ALL_GO_ON"];
/** One store has accepted the first list of a claim. The process with the second list restarts with a third one. */
const THREE_LISTS = ["LAST_ROSTER=5", "LAST_ROSTER_BALLOT=13", "FOUNDING", "NO_ELECTION", NO_LATE, "MOVES", "RESTARTS=1"];
const FIRST_LIST = "a claim becomes the first list";
const CLAIM_REPLACED = "another claim replaces one";
/** Two processes begin a quorum while one member forgets. */
const ONE_FORGETS = ["LAST_ROSTER_BALLOT=4", "LAST_ROSTER=2", "FOUNDING", "NO_ELECTION", NO_LATE, FORGETS, "ALL_GO_ON"];
/** A new store was taken in. A process with it learns that during a round, and another process has the former store. */
const LEARNS_LATE = ["LAST_BALLOT=12", "LAST_ROSTER_BALLOT=2", "LAST_ROSTER=2", "REPLACED", "TAKEN_IN", NO_LATE, "PUTS_B=2"];
const TAKEN_IN = ["another list of members is taken over", "a store is to be taken in", "a store is taken back"];

/** The list of the members. */
const MEMBERS: readonly QuorumCheck[] = [
  {
    name: "members: so, and the election is new",
    macros: ["LAST_BALLOT=4", "LAST_ROSTER_BALLOT=5", "REPLACED", "NEW_ELECTION", NO_LATE],
    shows: TAKEN_IN,
  },
  {
    name: "members: one store is emptied, and gets late what was sent before",
    macros: ["LAST_BALLOT=3", "LAST_ROSTER_BALLOT=4", "NEW_ELECTION", "WIPES=1"],
    shows: ["a store is emptied", "a write arrives late", "a store is to be taken in"],
  },
  {
    name: "members: two processes claim a quorum, and share one store",
    macros: [...ONE_SHARED, "LAST_ROSTER_BALLOT=8"],
    shows: [FIRST_LIST],
  },
  {
    name: "members: two processes claim a quorum, and share two stores",
    macros: [...TWO_SHARED, "LAST_ROSTER_BALLOT=8"],
    shows: [FIRST_LIST, CLAIM_REPLACED, ...TAKEN_IN],
  },
  { name: "members: three lists claim a quorum, one after the other", macros: THREE_LISTS, shows: [FIRST_LIST, CLAIM_REPLACED] },
];

const MEMBERS_LONG: readonly QuorumCheck[] = [
  {
    name: "members: one store is emptied twice",
    macros: ["LAST_BALLOT=5", "LAST_ROSTER_BALLOT=6", "WIPES=2", NO_LATE],
    shows: TAKEN_IN,
  },
  {
    name: "members: one store is emptied, and others are silent",
    macros: [...FEW, "WIPES=1", NO_LATE, "LOST_REPLIES"],
    shows: [...TAKEN_IN, "a store is emptied", "a put without a prepare"],
  },
  {
    name: "members: one store is replaced, and a process has the former one",
    macros: ["LAST_BALLOT=6", "LAST_ROSTER_BALLOT=6", "REPLACED"],
    shows: [...TAKEN_IN, "a write arrives late", "a put without a prepare"],
  },
  {
    name: "members: the claims share one store, by more rounds",
    macros: [...ONE_SHARED, "LAST_ROSTER_BALLOT=11"],
    shows: [FIRST_LIST],
  },
  {
    name: "members: the claims share two stores, by more rounds",
    macros: [...TWO_SHARED, "LAST_ROSTER_BALLOT=11"],
    shows: [FIRST_LIST, CLAIM_REPLACED],
  },
  {
    name: "members: the claims share one store, and a process restarts",
    macros: [...ONE_SHARED, "LAST_ROSTER_BALLOT=8", "RESTARTS=1"],
    shows: [FIRST_LIST],
  },
  {
    name: "members: the claims share two stores, and a process restarts",
    macros: [...TWO_SHARED, "LAST_ROSTER_BALLOT=8", "RESTARTS=1"],
    shows: [FIRST_LIST, CLAIM_REPLACED],
  },
  {
    name: "members: a quorum begins while one member forgets",
    macros: ONE_FORGETS,
    shows: ["a member forgets", "a member that has forgotten counts"],
  },
  {
    name: "members: a process learns during a round that a store was taken in",
    macros: LEARNS_LATE,
    shows: ["another list of members is taken over", "a put without a prepare", "a store is taken back"],
  },
  {
    name: "an empty store confirms that it is taken in",
    macros: ["PUTS_A=0", "PUTS_B=0", "LAST_BALLOT=4", "LAST_ROSTER_BALLOT=7", "WIPES=2", NO_LATE, "EMPTY_CONFIRMS"],
    violates: TWO_LISTS,
  },
  {
    name: "a claim replaces one of which it shares a minority",
    macros: [...ONE_SHARED, "LAST_ROSTER_BALLOT=11", "REPLACES_ANY_CLAIM"],
    violates: TWO_LISTS,
  },
];

const MEMBERS_WRONG: readonly QuorumCheck[] = [
  {
    name: "a quorum begins without a claim",
    macros: [...ONE_SHARED, "LAST_ROSTER_BALLOT=5", "NO_CLAIM"],
    violates: TWO_LISTS,
    tells: true,
  },
  {
    name: "a majority accepts a claim",
    macros: [...ONE_SHARED, "LAST_ROSTER_BALLOT=6", "CLAIMED_BY_MAJORITY"],
    violates: TWO_LISTS,
  },
  {
    name: "a member that keeps the process's own claim never counts below another claim",
    macros: [...TWO_SHARED, "LAST_ROSTER_BALLOT=8", "OWN_CLAIM_BLOCKS"],
    violates: STUCK,
  },
  {
    name: "a claim replaces one that has replaced others, whatever these named",
    macros: [...THREE_LISTS, "IGNORES_FORMER_CLAIMS"],
    violates: TWO_LISTS,
  },
  { name: "what a new store lacks was never there", macros: [...FEW, "REPLACED", NO_LATE, "EMPTY_COUNTS"], violates: FORK },
  {
    name: "a member is caught up by a newer list than the others of its round",
    macros: [...LEARNS_LATE, "CATCHES_UP_BY_NEWER_LIST"],
    violates: FORK,
  },
  { name: "a newer list of members is ignored", macros: [...FEW, "REPLACED", NO_LATE, "FOLLOWS_NOBODY"], violates: FORK },
  {
    name: "a marker is written where there is none, and once more later",
    macros: ["LAST_BALLOT=3", "LAST_ROSTER_BALLOT=5", "NEW_ELECTION", "WIPES=1", NO_LATE, "MARKS_NOTHING"],
    violates: FORK,
  },
  {
    name: "a member that forgets while a quorum begins never counts",
    macros: [...ONE_FORGETS, "FORGOTTEN_FOR_GOOD"],
    violates: STUCK,
  },
  {
    name: "an accept makes a record, and arrives late",
    macros: ["LAST_BALLOT=3", "LAST_ROSTER_BALLOT=4", "NEW_ELECTION", "WIPES=1", "CREATES_BY_ACCEPT"],
    violates: FORK,
    tells: true,
  },
];

/** The age of a nonce by the members' clocks. */
const AGES: readonly QuorumCheck[] = [
  {
    name: "ages: renewals, orders and a takeover, one clock is wrong",
    macros: [NO_LOST_REPLIES],
    shows: ["a lease that is confirmed too late", "a split is completed", "a takeover", "a write found by reading", "an order"],
  },
];

const AGES_LONG: readonly QuorumCheck[] = [
  {
    name: "ages: renewals and a takeover, by more rounds",
    macros: [NO_LOST_REPLIES, "NO_ORDERS", "LAST_BALLOT=11"],
    shows: ["a takeover", "a split is completed"],
  },
  { name: "ages: orders, too, and replies are lost", macros: [], shows: ["a write that is sent again"] },
  {
    name: "a member keeps the date of the nonce that was chosen",
    macros: [NO_LOST_REPLIES, "NO_ORDERS", "LAST_BALLOT=11", "KEEPS_BY_WHAT_IS_CHOSEN"],
    violates: TWO_VALID,
  },
  {
    name: "what is sent again keeps its date, and counts from then",
    macros: ["KEEPS_WHAT_IS_SENT_AGAIN"],
    violates: TWO_VALID,
  },
];

const AGES_WRONG: readonly QuorumCheck[] = [
  { name: "members' clocks differ by 100 to 89", macros: ["SLOW=89"], violates: TWO_VALID },
  { name: "what one member shows counts", macros: ["ONE_SHOWS"], violates: TWO_VALID },
  { name: "the age of whatever nonce a member keeps", macros: [NO_LOST_REPLIES, "OF_ANY_NONCE"], violates: TWO_VALID },
  { name: "a renewal counts from the reply", macros: [NO_LOST_REPLIES, "COUNT_FROM_REPLY"], violates: TWO_VALID },
];

export const QUORUM_RIGHT: readonly Check[] = [
  ...of("quorum/quorum", RIGHT),
  ...of("quorum/members", MEMBERS),
  ...of("quorum/ages", AGES),
];
/** Checks for a full search only. */
export const QUORUM_LONG: readonly Check[] = [
  ...of("quorum/quorum", LONG),
  ...of("quorum/members", MEMBERS_LONG),
  ...of("quorum/ages", AGES_LONG),
];
export const QUORUM_WRONG: readonly Check[] = [
  ...of("quorum/quorum", WRONG),
  ...of("quorum/members", MEMBERS_WRONG),
  ...of("quorum/ages", AGES_WRONG),
];

function of(model: Model, some: readonly QuorumCheck[]): readonly Check[] {
  return some.map((check) => ({ ...check, model }));
}
