import { expect, test } from "vitest";
import { letGo, LINEAGE, sessionIsOver, type Entry, type Member, type SeenSlot } from "../src/plan.ts";
import { report } from "./reports.ts";

const MEMBER: Member = { term: 3 * LINEAGE + 5, id: "session1", asked: 0 };
const own = (change: Parameters<typeof report>[0] = {}): SeenSlot => ({
  term: MEMBER.term,
  state: "held",
  report: report({ id: MEMBER.id, ...change }),
});

test.for([
  { title: "a record that is not listed", seen: undefined, isOver: false },
  { title: "the session itself", seen: own(), isOver: false },
  { title: "the session, expired by a list", seen: { ...own(), state: "expired" as const }, isOver: false },
  { title: "the session, broken", seen: { ...own(), state: "ending" as const }, isOver: false },
  { title: "its term, vacated", seen: { term: MEMBER.term, state: "vacant" as const }, isOver: true },
  { title: "its term, perhaps vacated", seen: { term: MEMBER.term, state: "unknown" as const }, isOver: false },
  { title: "a later term", seen: { term: MEMBER.term + 1, state: "held" as const }, isOver: true },
  { title: "an earlier term, of a list that lags", seen: { term: MEMBER.term - 1, state: "vacant" as const }, isOver: false },
  { title: "a later term of a record made anew", seen: { term: 9 * LINEAGE + 7, state: "held" as const }, isOver: false },
  { title: "a vacated term of a record made anew", seen: { term: 9 * LINEAGE + 1, state: "vacant" as const }, isOver: false },
])("$title: the session is over: $isOver", ({ seen, isOver }) => {
  expect(sessionIsOver(MEMBER, seen)).toBe(isOver);
});

const ENTRY: Entry = { slot: 1, since: 40, leaving: false, fails: 0 };
const LEAVING: Entry = { ...ENTRY, leaving: true };
const ASKED: Member = { ...MEMBER, asked: 50 };
const ended = (since: number, how: "left" | "failed" | "returned" | "failed-late" = "failed", shard = "17") => [
  { shard, since, how },
];

test.for([
  { title: "a holder that says nothing", seen: own(), freed: undefined },
  { title: "one that has ended the shard", seen: own({ ended: ended(40) }), freed: "failed" },
  { title: "one that has ended an earlier term of it", seen: own({ ended: ended(39) }), freed: undefined },
  { title: "one that has ended another shard", seen: own({ ended: ended(40, "failed", "1") }), freed: undefined },
  { title: "another session of the slot that has ended it", seen: own({ id: "session2", ended: ended(40) }), freed: undefined },
  {
    title: "an earlier term of the slot that has ended it",
    seen: { ...own({ ended: ended(40) }), term: MEMBER.term - 1 },
    freed: undefined,
  },
  { title: "one that was not asked, with a newer plan", seen: own({ applied: 99 }), freed: undefined },
  { title: "asked, and not carried out", entry: LEAVING, seen: own({ applied: 49 }), freed: undefined },
  {
    title: "asked, carried out, and still draining",
    entry: LEAVING,
    seen: own({ applied: 50, draining: new Set(["17"]) }),
    freed: undefined,
  },
  { title: "asked, carried out, and settled", entry: LEAVING, seen: own({ applied: 50 }), freed: "left" },
  {
    title: "asked, while too many drain to name them",
    entry: LEAVING,
    seen: own({ applied: 50, draining: "all" }),
    freed: undefined,
  },
  {
    title: "asked, named as ended beside many that drain",
    entry: LEAVING,
    seen: own({ applied: 50, draining: "all", ended: ended(40, "left") }),
    freed: "left",
  },
  { title: "one that stops, and still runs it", seen: own({ stopping: true, draining: new Set(["17"]) }), freed: undefined },
  { title: "one that stops, and does not run it", seen: own({ stopping: true }), freed: "left" },
  { title: "one that stops, with too many to name", seen: own({ stopping: true, draining: "all" }), freed: undefined },
  { title: "a session without a report", seen: { term: MEMBER.term, state: "held" as const }, freed: undefined },
] satisfies Array<{ title: string; entry?: Entry; seen: SeenSlot; freed: string | undefined }>)(
  "$title: freed as $freed",
  ({ entry = ENTRY, seen, freed }: { entry?: Entry; seen: SeenSlot; freed: string | undefined }) => {
    expect(letGo("17", entry, ASKED, seen)).toBe(freed);
  },
);
