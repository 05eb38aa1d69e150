import { fc } from "@fast-check/vitest";
import { expect, test } from "vitest";
import { setShares } from "../src/share.ts";
import { report } from "./reports.ts";

interface Sharer {
  readonly slot: number;
  readonly weight: number;
  readonly most: number;
  readonly priority: number;
  readonly has: number;
}

/** Returns the share of each slot. */
function sharesOf(members: readonly Sharer[], total: number): Map<number, number> {
  const all = members.map(({ slot, weight, most, priority, has }) => ({
    slot,
    report: report({ weight, priority, maxShards: most }),
    kept: Array.from({ length: has }, String),
    apart: 0,
    share: 0,
  }));
  setShares(all, total);
  return new Map(all.map(({ slot, share }) => [slot, share]));
}

const member = (slot: number, rest: Partial<Sharer> = {}): Sharer => ({
  slot,
  weight: 1,
  most: Infinity,
  priority: 0,
  has: 0,
  ...rest,
});

test.for([
  { title: "equal members share evenly", members: [member(0), member(1)], total: 10, shares: [5, 5] },
  {
    title: "the odd shard goes to the member that has most",
    members: [member(0), member(1, { has: 6 })],
    total: 11,
    shares: [5, 6],
  },
  { title: "weights divide", members: [member(0, { weight: 3 }), member(1)], total: 8, shares: [6, 2] },
  {
    title: "a limit leaves more to the others",
    members: [member(0, { most: 1 }), member(1), member(2)],
    total: 9,
    shares: [1, 4, 4],
  },
  { title: "limits leave shards over", members: [member(0, { most: 1 }), member(1, { most: 2 })], total: 9, shares: [1, 2] },
  { title: "a member with a limit of 0 gets nothing", members: [member(0, { most: 0 }), member(1)], total: 3, shares: [0, 3] },
  { title: "the highest priority gets all", members: [member(0), member(1, { priority: 2 })], total: 4, shares: [0, 4] },
  {
    title: "what the highest priority does not take goes to the next",
    members: [member(0), member(1, { priority: 2, most: 1 }), member(2, { priority: -1 })],
    total: 4,
    shares: [3, 1, 0],
  },
  {
    title: "one shard goes to the member that has it",
    members: [member(0), member(1, { has: 1 }), member(2)],
    total: 1,
    shares: [0, 1, 0],
  },
  { title: "nobody has nothing", members: [], total: 5, shares: [] },
])("$title", ({ members, total, shares }) => {
  expect([...sharesOf(members, total).values()]).toEqual(shares);
});

const anyMember = fc.record({
  weight: fc.double({ min: 0.01, max: 100, noNaN: true }),
  most: fc.oneof(fc.constant(Infinity), fc.nat(50)),
  priority: fc.integer({ min: -1, max: 1 }),
  has: fc.nat(30),
});

test("every shard has its place, as far as the limits allow, and each share is within one of the exact one", () => {
  const property = fc.property(fc.array(anyMember, { minLength: 1, maxLength: 12 }), fc.nat(500), (some, total) => {
    const members = some.map((one, slot) => ({ ...one, slot }));
    const shares = sharesOf(members, total);
    const room = members.reduce((sum, { most }) => sum + most, 0);
    expect([...shares.values()].reduce((sum, share) => sum + share, 0)).toBe(Math.min(total, room));
    for (const { slot, most } of members) {
      expect(shares.get(slot)).toBeGreaterThanOrEqual(0);
      expect(shares.get(slot)).toBeLessThanOrEqual(most);
    }
  });
  fc.assert(property, { numRuns: 500 });
});
