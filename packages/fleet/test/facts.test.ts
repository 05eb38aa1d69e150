import { expect, test } from "vitest";
import { enderName, fateOf, letGo, sessionName, type Entry, type Member, type SeenSlot } from "../src/plan.ts";
import { report } from "./reports.ts";

const MEMBER: Member = { term: 5, id: "session1", asked: 0 };
const own = (change: Parameters<typeof report>[0] = {}): SeenSlot => ({
  term: MEMBER.term,
  state: "held",
  report: report({ id: MEMBER.id, ...change }),
});

const OWN = sessionName("m#1", MEMBER.id);
const OTHER = sessionName("m#1", "session2");

test.for([
  { title: "no record", record: undefined, fate: "gone" },
  { title: "its own record", record: { candidateId: OWN, termId: "t" }, fate: "held" },
  { title: "its own record, vacated", record: { candidateId: OWN, termId: null }, fate: "over" },
  { title: "its own record, repaired and held back", record: { candidateId: OWN, termId: null, bars: [] }, fate: "gone" },
  { title: "a record in which a coordinator ends it", record: { candidateId: enderName(OWN), termId: "t" }, fate: "over" },
  { title: "a record in which a coordinator has ended it", record: { candidateId: enderName(OWN), termId: null }, fate: "over" },
  { title: "a record ended twice", record: { candidateId: enderName(enderName(OWN)), termId: null }, fate: "over" },
  { title: "the record of another session", record: { candidateId: OTHER, termId: "t" }, fate: "gone" },
  { title: "the record of another session, vacated", record: { candidateId: OTHER, termId: null }, fate: "gone" },
  { title: "a record that names nobody", record: { candidateId: null, termId: null }, fate: "gone" },
])("$title: the session is $fate", ({ record, fate }) => {
  expect(fateOf(MEMBER.id, record)).toBe(fate);
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
