import { fc } from "@fast-check/vitest";
import { expect, test } from "vitest";
import { MAX_PLAN_BYTES, decodePlan, encodePlan, planBytes } from "../src/plan-text.ts";
import { MAX_FAILS, MAX_SLOTS, type Entry, type Member, type Plan } from "../src/plan.ts";

const NOW = 1_767_225_600;

function planOf(members: number, shards: number, entry: (index: number) => Partial<Entry> = () => ({})): Plan {
  const all = Array.from({ length: members }, (_, slot): [number, Member] => [
    slot,
    { term: 2 ** 51 - 1 - slot, id: `0123456${slot % 10}`, asked: NOW },
  ]);
  const entries = Array.from({ length: shards }, (_, index): [string, Entry] => [
    String(index),
    { slot: index % members, since: NOW - 64 ** 3 - 1, leaving: index % 2 === 0, fails: index % 8, ...entry(index) },
  ]);
  return { revision: NOW, leaseMs: 30_000, fenced: true, members: new Map(all), shards: new Map(entries) };
}

const entries = fc.record({
  owner: fc.option(fc.nat(5), { nil: undefined }),
  age: fc.nat(100_000),
  leaving: fc.boolean(),
  fails: fc.integer({ min: 0, max: MAX_FAILS }),
});

test("any plan comes back as it was", () => {
  const names = fc.oneof(
    fc.constant(undefined),
    fc.uniqueArray(fc.string({ unit: "grapheme", minLength: 1 }), { maxLength: 30 }),
  );
  const property = fc.property(fc.array(entries, { maxLength: 30 }), names, fc.boolean(), (some, named, fenced) => {
    const members = new Map(
      Array.from({ length: 6 }, (_, slot): [number, Member] => [slot, { term: slot, id: `i${slot}`, asked: slot }]),
    );
    const all = (named ?? some.map((_, index) => String(index))).slice(0, some.length);
    const shards = new Map(
      all.map((name, index): [string, Entry] => {
        const { owner, age, leaving, fails } = some[index]!;
        return [name, { ...(owner === undefined ? { since: 0 } : { slot: owner, since: NOW - age }), leaving, fails }];
      }),
    );
    const plan: Plan = { revision: NOW, leaseMs: 30_000, fenced, members, shards };
    expect(decodePlan(encodePlan(plan))).toEqual(plan);
  });
  fc.assert(property, { numRuns: 300 });
});

test.for([
  [10, 64],
  [200, 8_000],
  [500, 6_000],
  [100, 1_000],
] as const)("a plan of %i members and %i shards fits, even if all shards fail and leave", ([members, shards]) => {
  const bytes = Buffer.byteLength(encodePlan(planOf(members, shards, () => ({ fails: MAX_FAILS, leaving: true }))));
  expect(bytes).toBeLessThan(MAX_PLAN_BYTES);
  expect(bytes).toBeLessThanOrEqual(7 * shards + 50 * members + 200);
});

test("failures do not make the plan longer", () => {
  const bytes = (fails: number): number => Buffer.byteLength(encodePlan(planOf(10, 5_000, () => ({ fails }))));
  expect(bytes(MAX_FAILS)).toBe(bytes(0));
});

test("the bytes of names count", () => {
  expect(planBytes(["0", "1"], 0)).toBe(200 + 14);
  expect(planBytes(["0", "1"], 3)).toBe(200 + 14 + 150);
  expect(planBytes(["ä", "b"], 0)).toBe(200 + 14 + 5 + 4);
});

test("refuses a slot that two characters cannot hold, which would be read as another one", () => {
  const plan = { ...planOf(1, 1), members: new Map([[MAX_SLOTS + 4, { term: 1, id: "x", asked: 0 }]]), shards: new Map() };
  expect(() => encodePlan(plan)).toThrow("The plan cannot be read");
});

test.for(['{"v":2}', "{}", "null", "{", "", '{"v":1,"r":1,"d":1,"m":[],"n":1,"w":1,"o":"02","s":"0","l":"0"}'])(
  "refuses %s, which is no plan of this version",
  (text) => {
    expect(() => decodePlan(text)).toThrow(/plan/);
  },
);
