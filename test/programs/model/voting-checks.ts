import { TWO_VALID, type Check } from "./check.ts";

const OLD_LEAD = "an old LEAD bars voters";
const OLD_TERM = "a term does not rise";
const BROKEN_TERM = "a broken term is renewed";

const MET = ["a LEAD of a term above the voter's", "a leader whom no majority answers in time", "a second leader"];
const MET_WITH_RELEASE = [...MET, "a leader after its own release"];
const MET_WITH_LOSS = [...MET, "a lost disk", "a return after a lost disk"];

const MET_WITH_BREAK = [...MET, "a term that a majority has broken"];
const MET_WITH_IMMEDIATE = [...MET_WITH_BREAK, "a bar that is freed under a leader"];
const MET_WITH_LISTS = [...MET, "a list of one server", "a term that only others of the list before knew"];

const model = "voting/voting";
const servers = "voting/servers";

const MET_FEWER = ["a leader whom no majority answers in time", "a second leader"];
const TAKES_PART_AGAIN = [...MET_FEWER, "a lost disk", "a return after a lost disk"];
const ROLLED_BACK = [...MET_FEWER, "a file that was rolled back", "a file that is found to be an older one"];
const MORE_SERVERS = [...MET_FEWER, "a new server", "a term that only others of the list before knew"];

/** The unbroken protocol of voting, in parts that are small enough for every change. */
export const VOTING_RIGHT: readonly Check[] = [
  { model, name: "votes, LEADs and restarts", macros: ["ALIKE", "NO_RELEASE"], shows: MET },
  { model, name: "votes, lists and restarts", macros: ["ONE_LEAD", "NO_RELEASE", "LISTS"], shows: MET_WITH_LISTS },
  {
    model: servers,
    name: "four servers: one loses its disk",
    macros: ["SERVERS=4", "CLAIMS=3", "LOSSES=1", "RESTARTS=1"],
    shows: TAKES_PART_AGAIN,
  },
];

/** Checks for a full search only. */
export const VOTING_LONG: readonly Check[] = [
  { model, name: "votes, LEADs, releases and restarts", macros: ["ALIKE"], shows: MET_WITH_RELEASE },
  { model, name: "votes, releases, restarts and lost disks", macros: ["ALIKE", "ONE_LEAD", "WIPES"], shows: MET_WITH_LOSS },
  { model: servers, name: "five servers: two lose their disks", macros: ["LOSSES=2", "LOST_AT_ONCE=2"], shows: TAKES_PART_AGAIN },
  { model: servers, name: "three servers become four, then five", macros: ["LISTS"], shows: MORE_SERVERS },
  { model, name: "votes, releases and restarts", macros: ["ALIKE", "ONE_LEAD"], shows: MET_WITH_RELEASE },
  { model, name: "votes and lost disks", macros: ["ALIKE", "ONE_LEAD", "NO_RELEASE", "WIPES"], shows: MET_WITH_LOSS },
  { model, name: "votes, breaks and restarts", macros: ["ALIKE", "ONE_LEAD", "NO_RELEASE", "BREAKS"], shows: MET_WITH_BREAK },
  {
    model,
    name: "votes, immediate breaks and restarts",
    macros: ["ALIKE", "ONE_LEAD", "NO_RELEASE", "BREAKS", "IMMEDIATE"],
    shows: MET_WITH_IMMEDIATE,
  },
  { model: servers, name: "five servers: one loses its disk", macros: ["LOSSES=1", "RESTARTS=1"], shows: TAKES_PART_AGAIN },
  { model: servers, name: "five servers: a file is rolled back", macros: ["ROLLBACKS=1"], shows: ROLLED_BACK },
  { model: servers, name: "three servers become four", macros: ["SERVERS=4", "LISTS"], shows: MORE_SERVERS },
];

const WITHOUT_RESTARTS = ["NO_RELEASE", "NO_RESTART"];
const WITH_RELEASES = ["ONE_LEAD", "NO_RESTART"];
const WITH_LOSSES = ["ONE_LEAD", "WIPES", ...WITHOUT_RESTARTS];
const WITH_BREAKS = ["ONE_LEAD", "BREAKS", ...WITHOUT_RESTARTS];
const WITH_LISTS = ["ONE_LEAD", "LISTS", ...WITHOUT_RESTARTS];

/** Voting with one rule broken. */
const BROKEN: ReadonlyArray<Omit<Check, "model"> & { readonly rule: string }> = [
  { rule: "SLOW=89", name: "clocks of voters differ by 100 to 89", macros: WITHOUT_RESTARTS, violates: TWO_VALID },
  { rule: "VOTE_DURING_LEASE", name: "a voter votes while it is barred", macros: WITHOUT_RESTARTS, violates: OLD_TERM },
  { rule: "NO_WAIT", name: "no wait after a restart", macros: ["NO_RELEASE"], violates: TWO_VALID },
  { rule: "LEAD_NOT_KEPT", name: "what a LEAD tells is not kept", macros: ["NO_RELEASE"], violates: TWO_VALID },
  { rule: "VOTE_NOT_KEPT", name: "a vote is not kept", macros: ["NO_RELEASE"], violates: OLD_TERM },
  { rule: "VOTES_ARE_A_LEASE", name: "votes are a lease", macros: WITHOUT_RESTARTS, violates: OLD_TERM },
  { rule: "ADD_VOTES", name: "votes of two terms are added", macros: WITHOUT_RESTARTS, violates: OLD_TERM },
  { rule: "OWN_ALWAYS", name: "the own vote always counts", macros: WITHOUT_RESTARTS, violates: OLD_TERM },
  { rule: "COUNT_FROM_RESEND", name: "a leader counts from a re-send", macros: WITHOUT_RESTARTS, violates: TWO_VALID },
  { rule: "IGNORE_NUMBERS", name: "an older LEAD extends", macros: WITHOUT_RESTARTS, violates: OLD_LEAD },
  { rule: "RELEASE_WITHOUT_NUMBER", name: "RELEASE without its number", macros: WITH_RELEASES, violates: OLD_LEAD },
  { rule: "RELEASE_OF_ANY_TERM", name: "RELEASE lifts the bar of any term", macros: WITH_RELEASES, violates: TWO_VALID },
  { rule: "VALID_UNTIL_LATER", name: "valid until RELEASE is heard", macros: WITH_RELEASES, violates: TWO_VALID },
  { rule: "EMPTY_IS_NEW", name: "a lost disk counts as a new one", macros: WITH_LOSSES, violates: OLD_TERM },
  { rule: "NO_WAIT_AFTER_LOSS", name: "a lost disk does not wait", macros: WITH_LOSSES, violates: TWO_VALID },
  { rule: "FORGETFUL_ACKNOWLEDGES", name: "LEAD acknowledged without a disk", macros: WITH_LOSSES, violates: OLD_TERM },
  {
    rule: "RESTART_LETS_IN",
    name: "a restart makes up for a lost disk",
    macros: ["ONE_LEAD", "WIPES", "NO_RELEASE"],
    violates: OLD_TERM,
  },
  { rule: "FLOOR_OF_TOO_FEW", name: "one other server gives the floor", macros: WITH_LOSSES, violates: OLD_TERM },
  { rule: "LEAD_AFTER_BREAK", name: "LEAD acknowledged of a broken term", macros: WITH_BREAKS, violates: BROKEN_TERM },
  {
    rule: "BREAK_NOT_KEPT",
    name: "a break is not kept",
    macros: ["ONE_LEAD", "BREAKS", "NO_RELEASE"],
    violates: BROKEN_TERM,
  },
  { rule: "BREAK_LIFTS_THE_BAR", name: "a break lifts the bar of its term", macros: WITH_BREAKS, violates: TWO_VALID },
  {
    rule: "BREAK_OF_ANY_TERM",
    name: "a break hits whatever term there is",
    macros: WITH_BREAKS,
    violates: "an order hits a later term",
  },
  {
    rule: "IMMEDIATE_FOR_GOOD",
    name: "an immediate break frees later bars, too",
    macros: [...WITH_BREAKS, "IMMEDIATE"],
    violates: TWO_VALID,
  },
  { rule: "LISTS_BY_TWO", name: "a list loses two servers at once", macros: WITH_LISTS, violates: TWO_VALID },
  { rule: "LISTS_WITHOUT_MEETING", name: "the next list before all have this one", macros: WITH_LISTS, violates: TWO_VALID },
  { rule: "LISTS_WITHOUT_TELLING", name: "a new list without the others' terms", macros: WITH_LISTS, violates: OLD_TERM },
];

/** Broken rules with four or five servers. */
const BROKEN_WITH_FIVE: ReadonlyArray<Omit<Check, "model"> & { readonly rule: string }> = [
  { rule: "FLOOR_OF_TOO_FEW", name: "N − majority of five give the floor", macros: ["LOSSES=1"], violates: OLD_TERM },
  { rule: "HEEDS_AT_ONCE", name: "a floor while a claim may count votes", macros: ["LOSSES=1"], violates: OLD_TERM },
  { rule: "NO_WAIT_AFTER_LOSS", name: "one of five does not wait", macros: ["LOSSES=1"], violates: TWO_VALID },
  { rule: "FORGETFUL_ACKNOWLEDGES", name: "one of five acknowledges without a disk", macros: ["LOSSES=1"], violates: TWO_VALID },
  { rule: "TRUSTS_ITS_FILE", name: "an older file is trusted", macros: ["ROLLBACKS=1", "NO_TIME"], violates: TWO_VALID },
  {
    rule: "VOTES_NOT_REMEMBERED",
    name: "who has a vote forgets that at a start",
    macros: ["ROLLBACKS=1", "RESTARTS=1", "NO_TIME"],
    violates: OLD_TERM,
  },
  {
    rule: "BEGINS_AT_ONCE",
    name: "two new servers vote at once",
    macros: ["LISTS", "LISTS_BY_TWO"],
    violates: TWO_VALID,
  },
];

export const VOTING_WRONG: readonly Check[] = [
  ...BROKEN.map(({ rule, macros, ...check }) => ({ ...check, model, macros: [...macros, rule] }) as const),
  ...BROKEN_WITH_FIVE.map(({ rule, macros, ...check }) => ({ ...check, model: servers, macros: [...macros, rule] }) as const),
];
