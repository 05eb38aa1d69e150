/** Snapshots made of the statuses that were heard. */
import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import type { LeaderStatus } from "../src/messages.ts";
import { LeaderStatuses } from "../src/leader-statuses.ts";

const SIGN: LeaderStatus = {
  term: 3,
  number: 5,
  candidateId: "x",
  value: "v",
  leaseDurationMs: 1_000,
  ageMs: 100,
  released: false,
  holdMs: 0,
};
const BROKEN = { id: "i", reason: "why", immediate: false };
const TRANSFER = { id: "j", candidateId: "y", timeoutMs: 500, leftMs: 500 };

function world(...signs: Array<LeaderStatus | undefined>) {
  const clock = new VirtualClock();
  const sightings = new LeaderStatuses(clock);
  for (const sign of signs) sightings.see("e", sign);
  return { clock, sightings, snapshot: () => sightings.snapshot("e") };
}

test("an election that was never heard of is unknown", () => {
  expect(world().snapshot()).toBeUndefined();
  expect(world(undefined).snapshot()).toBeUndefined();
});

test("a leader is held until its lease has passed since any server heard it", async () => {
  const { clock, snapshot } = world(SIGN);
  expect(snapshot()).toEqual({
    election: "e",
    state: "held",
    term: 3,
    holder: "x",
    value: "v",
    ageMs: [100, Infinity],
    leaseDurationMs: 1_000,
    bar: expect.objectContaining({ kind: "lease" }),
  });
  await clock.advance(899);
  expect(snapshot()).toMatchObject({ state: "held", ageMs: [999, Infinity] });
  await clock.advance(1);
  expect(snapshot()).toMatchObject({ state: "expired", ageMs: [1_000, Infinity] });
});

test.each<[string, Partial<LeaderStatus>, object, readonly string[]]>([
  ["released", { released: true }, { state: "vacant" }, ["holder", "value", "ageMs", "leaseDurationMs", "endingReason", "bar"]],
  [
    "released with a hold",
    { released: true, holdMs: 500 },
    { state: "vacant", bar: { kind: "hold", leftMs: 500 } },
    ["holder", "value"],
  ],
  ["without a holder", { candidateId: "" }, { state: "held" }, ["holder", "value", "ageMs"]],
  ["without a value", { value: undefined }, { holder: "x" }, ["value"]],
  ["broken", { broken: BROKEN }, { state: "ending", endingReason: "why", holder: "x" }, []],
  ["broken at once", { broken: { ...BROKEN, immediate: true } }, { state: "expired", endingReason: "why" }, []],
  ["transferred", { transfer: TRANSFER }, { state: "ending", holder: "x", bar: { kind: "lease" } }, ["endingReason"]],
  [
    "transferred and released",
    { transfer: TRANSFER, released: true },
    { state: "vacant", bar: { kind: "transfer", candidateId: "y" } },
    ["holder"],
  ],
  [
    "transferred to a candidate that never came",
    { transfer: { ...TRANSFER, leftMs: 0 }, released: true },
    { state: "vacant" },
    ["bar"],
  ],
  [
    "broken, and transferred since",
    { broken: BROKEN, transfer: TRANSFER, ageMs: 1_000 },
    { state: "expired", bar: { kind: "transfer", candidateId: "y" } },
    ["endingReason"],
  ],
  ["broken and released", { broken: BROKEN, released: true }, { state: "vacant" }, ["endingReason"]],
])("a term that is %s has this snapshot", (_, part, expected, absent) => {
  const snapshot = world({ ...SIGN, ...part }).snapshot();
  expect(snapshot).toMatchObject(expected);
  for (const name of absent) expect(snapshot).not.toHaveProperty(name);
});

test("of two breaks after one LEAD the immediate one counts, whichever is heard first", () => {
  const [waiting, immediate] = [
    { ...SIGN, broken: BROKEN },
    { ...SIGN, broken: { ...BROKEN, id: "k", immediate: true } },
  ];
  expect(world(waiting, immediate).snapshot()).toMatchObject({ state: "expired" });
  expect(world(immediate, waiting).snapshot()).toMatchObject({ state: "expired" });
  expect(world(waiting, SIGN).snapshot()).toMatchObject({ state: "ending" });
});

test("a transfer runs out with time", async () => {
  const { clock, snapshot } = world({ ...SIGN, released: true, transfer: TRANSFER });
  await clock.advance(499);
  expect(snapshot()).toMatchObject({ bar: { kind: "transfer", candidateId: "y" } });
  await clock.advance(1);
  expect(snapshot()).not.toHaveProperty("bar");
});

test("a hold runs out with time", async () => {
  const { clock, snapshot } = world({ ...SIGN, released: true, holdMs: 500 });
  await clock.advance(200);
  expect(snapshot()).toMatchObject({ bar: { kind: "hold", leftMs: 300 } });
  await clock.advance(400);
  expect(snapshot()).not.toHaveProperty("bar");
});

describe("of two statuses the later one counts, in either order: the one", () => {
  test.each<[string, Partial<LeaderStatus>, Partial<LeaderStatus>]>([
    ["of a later term", { term: 4, number: 1 }, { released: true, number: 9 }],
    ["with a release", { released: true, number: 5 }, { number: 6 }],
    ["with a later number", { number: 6 }, { broken: BROKEN }],
    ["with a break", { broken: BROKEN }, {}],
  ])("%s", (_, later, earlier) => {
    const [one, other] = [
      { ...SIGN, candidateId: "later", ...later },
      { ...SIGN, candidateId: "earlier", ...earlier },
    ];
    const expected = world(one).snapshot();
    expect(world(one, other).snapshot()).toEqual(expected);
    expect(world(other, one).snapshot()).toEqual(expected);
  });

  test("and the same status again does not make the leader younger", async () => {
    const { clock, sightings, snapshot } = world(SIGN);
    await clock.advance(500);
    sightings.see("e", SIGN);
    expect(snapshot()).toMatchObject({ ageMs: [600, Infinity] });
  });
});

describe("the orders of one term may come from another server than its latest LEAD", () => {
  const LATER = { ...SIGN, number: 6, ageMs: 1_000 };
  const EARLIER = { ...SIGN, ageMs: 1_000 };

  test("a break lifts a transfer, also if a server that lacks the break is heard later", () => {
    const signs = [
      { ...EARLIER, transfer: TRANSFER },
      { ...LATER, broken: BROKEN },
    ];
    for (const heard of [signs, signs.toReversed()]) {
      const { snapshot } = world(...heard);
      expect(snapshot()).toMatchObject({ state: "expired", endingReason: "why", ageMs: [1_000, Infinity] });
      expect(snapshot()).not.toHaveProperty("bar");
    }
  });

  test("a break lifts a transfer, also if its server has heard no LEAD since its start", () => {
    const signs = [
      { ...LATER, transfer: TRANSFER },
      { ...EARLIER, number: 0, candidateId: "", broken: BROKEN },
    ];
    for (const heard of [signs, signs.toReversed()]) expect(world(...heard).snapshot()).not.toHaveProperty("bar");
  });

  test("a transfer that came after a break stays, although another server has only the break", () => {
    const { snapshot } = world({ ...LATER, broken: BROKEN, transfer: TRANSFER }, { ...LATER, broken: BROKEN });
    expect(snapshot()).toMatchObject({ bar: { kind: "transfer", candidateId: "y" } });
  });

  test("a transfer lasts as long as the last status with it says", async () => {
    const signs = [LATER, { ...EARLIER, transfer: TRANSFER }];
    for (const heard of [signs, signs.toReversed()]) {
      const { clock, sightings, snapshot } = world(...heard);
      await clock.advance(400);
      sightings.see("e", { ...LATER, number: 7, transfer: TRANSFER });
      await clock.advance(499);
      expect(snapshot()).toMatchObject({ bar: { kind: "transfer", candidateId: "y" } });
      await clock.advance(1);
      expect(snapshot()).not.toHaveProperty("bar");
    }
  });

  test("a newer term ends a transfer", () => {
    const newer = { ...SIGN, term: 4, number: 1, ageMs: 1_000 };
    for (const heard of [
      [newer, { ...LATER, transfer: TRANSFER }],
      [{ ...LATER, transfer: TRANSFER }, newer],
    ]) {
      expect(world(...heard).snapshot()).not.toHaveProperty("bar");
    }
  });
});

test("the ten thousand elections that were heard of last are remembered", () => {
  const { sightings } = world();
  for (let at = 0; at < 10_000; at += 1) sightings.see(`e${at}`, SIGN);
  expect(sightings.snapshot("e0")).toBeDefined();
  sightings.see("e0", { ...SIGN, number: 6 });
  sightings.see("one more", SIGN);
  expect(sightings.snapshot("e0")).toBeDefined();
  expect(sightings.snapshot("e1")).toBeUndefined();
  expect(sightings.snapshot("e2")).toBeDefined();
});
