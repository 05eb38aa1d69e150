import { expect, test } from "vitest";
import type { Entry, Member, Plan, SeenSlot } from "../src/plan.ts";
import type { Report } from "../src/report.ts";
import { encodePlan, MAX_PLAN_BYTES } from "../src/plan-text.ts";
import { revise, type Revision, type Wishes } from "../src/revise.ts";
import { report } from "./reports.ts";

const REVISION = 100;
const CALM: Wishes = {
  shards: [],
  settled: true,
  warned: true,
  gathering: false,
  over: new Set(),
  resting: new Set(),
  returned: new Map(),
  leaseMs: 30_000,
};

/** A plan in short: each shard with the slot of its holder. The member of slot n has the term 10 n and the id "n". */
function planOf(holders: Record<string, number | undefined>, change: Record<string, Partial<Entry>> = {}): Plan {
  const shards = new Map<string, Entry>();
  const members = new Map<number, Member>();
  for (const [name, holder] of Object.entries(holders)) {
    shards.set(name, { slot: holder, since: holder === undefined ? 0 : 50, leaving: false, fails: 0, ...change[name] });
    if (holder !== undefined) members.set(holder, { term: 10 * holder, id: String(holder), asked: REVISION });
  }
  return { revision: REVISION, leaseMs: 30_000, fenced: false, members, shards };
}

function slot(number: number, change: Partial<Report> = {}, rest: Partial<SeenSlot> = {}): [number, SeenSlot] {
  return [number, { term: 10 * number, state: "held", report: report({ id: String(number), ...change }), ...rest }];
}

function next(plan: Plan, seen: ReadonlyArray<[number, SeenSlot]>, wishes: Partial<Wishes> = {}): Revision {
  return revise(plan, new Map(seen), { ...CALM, shards: [...plan.shards.keys()], ...wishes });
}

/** Each shard with its holder; an asterisk if it is asked to leave. */
function owners({ plan }: Revision): Record<string, string> {
  return Object.fromEntries([...plan.shards].map(([name, one]) => [name, `${one.slot ?? "-"}${one.leaving ? "*" : ""}`]));
}

test("free shards go to the member that lacks most, in the new revision as their term", () => {
  const made = next(planOf({ a: 1, b: 1, c: undefined, d: undefined }), [slot(1), slot(2)]);
  expect(owners(made)).toEqual({ a: "1", b: "1", c: "2", d: "2" });
  expect(made.plan.shards.get("c")?.since).toBe(101);
  expect(made.plan.shards.get("a")?.since).toBe(50);
  expect(made.plan.members.get(2)).toEqual({ term: 20, id: "2", asked: 0 });
});

test("nothing changes in the calm", () => {
  expect(next(planOf({ a: 1, b: 2 }), [slot(1), slot(2)])).toMatchObject({ changed: false, busy: false, moves: 0 });
});

test("the shards of a session that is over go to the others, and no other shard moves", () => {
  const made = next(planOf({ a: 1, b: 1, c: 2, d: 2 }), [slot(2)], { over: new Set([1]) });
  expect(owners(made)).toEqual({ a: "2", b: "2", c: "2", d: "2" });
  expect(made.plan.members.has(1)).toBe(false);
});

test.for([
  { title: "expired", seen: slot(1, {}, { state: "expired" }) },
  { title: "unknown", seen: slot(1, {}, { state: "unknown" }) },
  { title: "broken", seen: slot(1, {}, { state: "ending" }) },
  { title: "held by a session with another id", seen: slot(1, { id: "other" }) },
  { title: "held in an earlier term", seen: slot(1, {}, { term: 9 }) },
  { title: "vacant", seen: slot(1, {}, { state: "vacant", report: undefined }) },
  { title: "held in a later term", seen: slot(1, { id: "other" }, { term: 11 }) },
  { title: "missing", seen: undefined },
])("a slot that is $title keeps its shards", ({ seen }) => {
  expect(owners(next(planOf({ a: 1, b: 2 }), [...(seen ? [seen] : []), slot(2)]))).toEqual({ a: "1", b: "2" });
});

test("a new session of a slot takes no shard of the former one without a grant", () => {
  const made = next(planOf({ a: 1, b: 2 }), [slot(1, { id: "again" }, { term: 11 }), slot(2)], { over: new Set([1]) });
  expect(owners(made)).toEqual({ a: "1", b: "2" });
  expect(made.plan.members.get(1)).toMatchObject({ term: 11, id: "again" });
  expect(made.plan.shards.get("a")?.since).toBe(101);
});

test("a member with too many shards leaves its newest, once all members poll often", () => {
  const plan = planOf({ a: 1, b: 1, c: 1, d: 1 }, { b: { since: 60 }, d: { since: 70 } });
  const seen = [slot(1), slot(2)];
  expect(next(plan, seen, { warned: false })).toMatchObject({ busy: true, moves: 0 });
  expect(owners(next(plan, seen, { settled: false }))).toEqual({ a: "1", b: "1", c: "1", d: "1" });
  const made = next(plan, seen);
  expect(owners(made)).toEqual({ a: "1", b: "1*", c: "1", d: "1*" });
  expect(made).toMatchObject({ moves: 2, busy: true });
  expect(made.plan.members.get(1)?.asked).toBe(101);
});

test("leaving is never undone, even if the shard could stay now", () => {
  const plan = planOf({ a: 1, b: 1 }, { b: { leaving: true } });
  expect(owners(next(plan, [slot(1)]))).toEqual({ a: "1", b: "1*" });
});

test("a shard that its holder has left is granted anew, under a new term, even to the same member", () => {
  const plan = { ...planOf({ a: 1, b: 1 }, { b: { leaving: true } }), members: new Map([[1, { term: 10, id: "1", asked: 90 }]]) };
  const made = next(plan, [slot(1, { applied: 90 })]);
  expect(owners(made)).toEqual({ a: "1", b: "1" });
  expect(made.plan.shards.get("b")?.since).toBe(101);
});

test("all shards of a member that stops are to leave, and it gets no other", () => {
  const plan = planOf({ a: 1, b: 2, c: undefined });
  const made = next(plan, [slot(1, { stopping: true, draining: new Set(["a"]) }), slot(2)]);
  expect(owners(made)).toEqual({ a: "1*", b: "2", c: "2" });
});

test("a shard that is no longer wanted leaves, vanishes once it is free, and comes back under a higher term", () => {
  const leaving = next(planOf({ a: 1, b: 1 }), [slot(1)], { shards: ["a"] });
  expect(owners(leaving)).toEqual({ a: "1", b: "1*" });
  const gone = next(leaving.plan, [slot(1, { applied: 101 })], { shards: ["a"] });
  expect(owners(gone)).toEqual({ a: "1" });
  const back = next(gone.plan, [slot(1)], { shards: ["a", "b"] });
  expect(back.plan.shards.get("b")).toMatchObject({ slot: 1, since: 103 });
});

const failed = (shard: string) => ({ ended: [{ shard, since: 50, how: "failed" as const }] });

test("a shard that has failed is told, counted, and not granted in the same plan", () => {
  const made = next(planOf({ a: 1, b: 2 }, { a: { fails: 1 } }), [slot(1, failed("a")), slot(2)]);
  expect(owners(made)).toEqual({ a: "-", b: "2" });
  expect(made.givenBack).toEqual([{ shard: "a", by: "1", how: "failed", fails: 2 }]);
  expect(made.plan.shards.get("a")?.fails).toBe(2);
});

test("a shard that rests keeps its place in the shares, so that no other one moves", () => {
  const plan = planOf({ a: undefined, b: 1, c: 2, d: 2 });
  const wishes = { resting: new Set(["a"]), returned: new Map([["a", "1"]]) };
  expect(next(plan, [slot(1), slot(2)], wishes)).toMatchObject({ changed: false, busy: false });
});

test("a shard that has failed goes to another member, even beyond its share, and is counted apart", () => {
  const plan = planOf({ a: undefined, b: 1, c: 2, d: 1, e: 2 });
  const wishes = { returned: new Map([["a", "1"]]) };
  const made = next(plan, [slot(1), slot(2)], wishes);
  expect(owners(made)["a"]).toBe("2");
  expect(next(made.plan, [slot(1), slot(2)], wishes)).toMatchObject({ changed: false, moves: 0 });
});

test("a shard that has failed stays with the only member there is", () => {
  expect(owners(next(planOf({ a: undefined }), [slot(1)], { returned: new Map([["a", "1"]]) }))).toEqual({ a: "1" });
});

test("a failing shard keeps to the limit of a member", () => {
  const plan = planOf({ a: undefined, b: 2 });
  const seen = [slot(1, { maxShards: 0 }), slot(2, { maxShards: 1 })];
  expect(owners(next(plan, seen, { returned: new Map([["a", "1"]]) }))).toEqual({ a: "-", b: "2" });
});

test("a return clears failures, and a quick second one counts as a failure", () => {
  const seen = [slot(1, { ended: [{ shard: "a", since: 50, how: "returned" }] })];
  const plan = planOf({ a: 1 }, { a: { fails: 3 } });
  expect(next(plan, seen).givenBack).toMatchObject([{ how: "returned", fails: 0 }]);
  expect(next(plan, seen, { returned: new Map([["a", "2.20"]]) }).givenBack).toMatchObject([{ how: "failed", fails: 4 }]);
});

test("a failure after a minute of work counts as the first", () => {
  const seen = [slot(1, { ended: [{ shard: "a", since: 50, how: "failed-late" }] })];
  expect(next(planOf({ a: 1 }, { a: { fails: 5 } }), seen).givenBack).toMatchObject([{ fails: 1 }]);
});

test("while members gather nothing is granted if most shards are free", () => {
  const seen = [slot(1), slot(2)];
  expect(owners(next(planOf({ a: undefined, b: undefined }), seen, { gathering: true }))).toEqual({ a: "-", b: "-" });
  const few = planOf({ a: 1, b: 2, c: undefined });
  expect(owners(next(few, seen, { gathering: true }))["c"]).toBe("1");
});

test("a session that was never renewed gets something only where no other member is", () => {
  const plan = planOf({ a: undefined, b: undefined });
  expect(owners(next(plan, [slot(1, { steady: false }), slot(2)]))).toEqual({ a: "2", b: "2" });
  expect(owners(next(plan, [slot(1, { steady: false }), slot(2, { steady: false })]))).toEqual({ a: "1", b: "2" });
});

test("a member without a report gets nothing", () => {
  expect(owners(next(planOf({ a: undefined }), [slot(1, {}, { report: undefined })]))).toEqual({ a: "-" });
});

test("fences stay on once a member has asked for them", () => {
  const on = next(planOf({ a: 1 }), [slot(1, { fenced: true })]);
  expect(on).toMatchObject({ changed: true, plan: { fenced: true } });
  expect(next(on.plan, [slot(1)])).toMatchObject({ changed: false, plan: { fenced: true } });
});

test("the plan keeps the longest lease that was seen", () => {
  expect(next(planOf({ a: 1 }), [slot(1)], { leaseMs: 60_000 }).plan.leaseMs).toBe(60_000);
  expect(next(planOf({ a: 1 }), [slot(1)], { leaseMs: 6_000 }).plan.leaseMs).toBe(30_000);
});

/** A list that leaves room for 32 members in the plan. */
const LARGE = Array.from({ length: 296 }, (_, index) => String(index).padStart(200, "x"));

test("a plan takes no member for whom it has no room, and says so", () => {
  const seen = Array.from({ length: 80 }, (_, index) => slot(index + 1));
  const made = next(planOf({}), seen, { shards: LARGE });
  expect(made.isFull).toBe(true);
  expect(made.plan.members.size).toBe(32);
  expect(Buffer.byteLength(encodePlan(made.plan))).toBeLessThanOrEqual(MAX_PLAN_BYTES);
  expect([...made.plan.shards.values()].filter((entry) => entry.slot === undefined)).toEqual([]);
  const later = next(made.plan, seen.slice(1), { shards: LARGE, over: new Set([1]) });
  expect(later.plan.members.size).toBe(32);
  expect(later.plan.members.has(33)).toBe(true);
});

test("shards for which a plan has no room wait until others have left", () => {
  const old = Object.fromEntries(LARGE.map((name) => [name, 1]));
  const other = LARGE.map((name) => name.replace("x", "y"));
  const asked = next(planOf(old), [slot(1)], { shards: other });
  expect(asked.isFull).toBe(true);
  expect(Buffer.byteLength(encodePlan(asked.plan))).toBeLessThanOrEqual(MAX_PLAN_BYTES);
  const left = next(asked.plan, [slot(1, { applied: 101 })], { shards: other });
  expect([...left.plan.shards.keys()].toSorted()).toEqual(other.toSorted());
  expect(left.isFull).toBe(false);
});

test("a large numbered list that shrinks keeps what has left, until its plan has room for the rest", () => {
  const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index));
  const shards = numbered(4_000);
  const old = planOf(Object.fromEntries(numbered(8_000).map((name, index) => [name, 1 + (index % 2)])));
  const asked = next(old, [slot(1), slot(2)], { shards });
  const half = next(asked.plan, [slot(1, { applied: 101 }), slot(2)], { shards });
  expect(Buffer.byteLength(encodePlan(half.plan))).toBeLessThanOrEqual(MAX_PLAN_BYTES);
  const whole = next(half.plan, [slot(1, { applied: 101 }), slot(2, { applied: 101 })], { shards });
  expect([...whole.plan.shards.keys()]).toEqual(shards);
});

test("at most 256 moves are under way at once", () => {
  const plan = planOf(Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`s${index}`, 1])));
  const made = next(plan, [slot(1), slot(2)]);
  expect(made.moves).toBe(256);
  expect(next(made.plan, [slot(1), slot(2)]).moves).toBe(0);
});
