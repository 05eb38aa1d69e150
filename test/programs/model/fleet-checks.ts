import type { Check } from "./check.ts";

const TWO_HOLDERS = "a shard has two valid holders";

const model = "fleet/fleet";
const MET = ["a shard that a report frees", "a shard that has a second holder", "an expired session that is ended"];
const FEW = "REVISIONS=2";
const DELETES = "DELETES";
const LATER_SESSION = "SESSIONS=3";

/** The unbroken rules of a fleet, in parts that are small enough for every change. */
export const FLEET_RIGHT: readonly Check[] = [
  { model, name: "a fleet: shards that move", macros: [], shows: MET },
  { model, name: "a fleet: two shards", macros: ["SHARDS=2", FEW] },
  { model, name: "a fleet: members that stop", macros: ["STOPS", FEW] },
  { model, name: "a fleet: a deleted record", macros: [DELETES, FEW] },
];

/** Checks for a full search only. */
export const FLEET_LONG: readonly Check[] = [
  { model, name: "a fleet: two shards that move", macros: ["SHARDS=2"], shows: MET },
  { model, name: "a fleet: members that stop and hand over", macros: ["STOPS"], shows: MET },
];

/** The same with one rule broken. */
export const FLEET_WRONG: readonly Check[] = [
  { model, name: "an expired session is over", macros: ["EXPIRED_IS_OVER"], violates: TWO_HOLDERS },
  { model, name: "a missing session is over at once", macros: ["MISSING_IS_OVER", DELETES], violates: TWO_HOLDERS },
  {
    model,
    name: "any vacated record ends a session",
    macros: ["ANY_VACATED_RECORD", DELETES, LATER_SESSION],
    violates: TWO_HOLDERS,
  },
  {
    model,
    name: "any session's report frees shards of its slot",
    macros: ["ANY_SESSION_OF_THE_SLOT", DELETES, "STOPS", LATER_SESSION, FEW],
    violates: TWO_HOLDERS,
  },
  { model, name: "a shard is free when its holder is asked", macros: ["FREE_WHEN_ASKED"], violates: TWO_HOLDERS },
  { model, name: "a shard is free while its task drains", macros: ["FREE_WHILE_DRAINING"], violates: TWO_HOLDERS },
  {
    model,
    name: "leaving is undone",
    macros: ["LEAVING_UNDONE"],
    violates: "the plan keeps a shard with a member that has left it",
  },
  {
    model,
    name: "a member forgets what it has let go",
    macros: ["NOTE_FORGOTTEN", "SHARDS=2", FEW],
    violates: "a term begins twice, or after a later one",
  },
  {
    model,
    name: "a thawed member starts a shard",
    macros: ["THAWED_START"],
    violates: "a task begins on a session that is over",
  },
];
