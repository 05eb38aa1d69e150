import { expect, test } from "vitest";
import { LINK_FAULTS, MEMBER_FAULTS, PROCESS_FAULTS, SEVERED, STORE_FAULTS } from "./faults.ts";
import { LONGEST_FAULT, planOf } from "./plan.ts";

const SEEDS = Array.from({ length: 200 }, (_, seed) => seed);

test("a seed makes one plan, and another seed another one", () => {
  expect(planOf(1, { rounds: 20, isNetworked: true })).toEqual(planOf(1, { rounds: 20, isNetworked: true }));
  expect(planOf(1, { rounds: 20, isNetworked: true })).not.toEqual(planOf(2, { rounds: 20, isNetworked: true }));
});

test("every round has one fault or two, none of them for long, and at most two workers are lost for ever", () => {
  for (const seed of SEEDS) {
    const rounds = planOf(seed, { rounds: 20, isNetworked: true });
    expect(rounds).toHaveLength(20);
    for (const { process, network } of rounds) {
      const faults = [process, network].filter((fault) => fault !== undefined);
      expect(faults.length).toBeGreaterThanOrEqual(1);
      for (const { lasts } of faults) expect(lasts).toBeLessThanOrEqual(LONGEST_FAULT);
    }
    expect(rounds.filter(({ network }) => network?.kind === SEVERED).length).toBeLessThanOrEqual(2);
  }
});

test("every kind of fault comes, to leaders and to others", () => {
  const rounds = SEEDS.flatMap((seed) => planOf(seed, { rounds: 8, isNetworked: true }));
  const faults = rounds.flatMap(({ process, network }) => [process, network].filter((fault) => fault !== undefined));
  const kinds = new Set(faults.map(({ kind }) => kind));
  expect(kinds).toEqual(new Set([...PROCESS_FAULTS, ...LINK_FAULTS, ...STORE_FAULTS, SEVERED]));
  expect(new Set(faults.map(({ target }) => typeof target))).toEqual(new Set(["string", "number"]));
});

test("without a network, processes and the store are all that can fail", () => {
  const rounds = SEEDS.flatMap((seed) => planOf(seed, { rounds: 8, isNetworked: false }));
  expect(rounds.every(({ process, network }) => process ?? network)).toBe(true);
  expect(new Set(rounds.map(({ network }) => network?.kind))).toEqual(new Set([undefined, "store-frozen"]));
});

test("where there are several stores, any fault meets any one of them, and none of all stores comes beside it", () => {
  const rounds = SEEDS.flatMap((seed) => planOf(seed, { rounds: 8, isNetworked: true, hasMembers: true }));
  const members = rounds.flatMap(({ member }) => member ?? []);
  expect(new Set(members.map(({ kind }) => kind))).toEqual(new Set(MEMBER_FAULTS));
  expect(new Set(members.map(({ target }) => (target as number) % 3))).toEqual(new Set([0, 1, 2]));
  const storeFaults: readonly string[] = STORE_FAULTS;
  expect(rounds.filter(({ member, network }) => member && network && storeFaults.includes(network.kind))).toEqual([]);
  expect(rounds.some(({ member, network }) => !member && network && storeFaults.includes(network.kind))).toBe(true);
});
