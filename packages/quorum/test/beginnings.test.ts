/** Tests the first writes of a quorum, a roster and an election while processes have different stores under one name. */
import type { LeaseRecord } from "@leasehold/core/provider";
import { SimulatedRecordService } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { MARKER, ROSTER } from "../src/roster.ts";
import { ELECTION, NAMES, nonceOf, OTHER_ELECTION, World, write, type Client, type Name } from "./world.ts";

const LOST = { arrivals: [] };

/** Returns how many of some writes in the same place were stored. */
async function stored(world: World, nonce: string, by: readonly Client[], ifVersion?: string): Promise<number> {
  const outcomes = await world.clock.runUntil(Promise.allSettled(by.map((one) => one.startPut(nonce, ifVersion))));
  return outcomes.filter((outcome) => outcome.status === "fulfilled" && outcome.value.stored).length;
}

/** Returns the number of the roster that a member keeps, if any. */
function rosterAt(world: World, name: Name): number | undefined {
  const { value } = (world.services[name].record(ROSTER) ?? {}) as Partial<LeaseRecord>;
  return value === undefined ? undefined : (JSON.parse(value) as { number: number }).number;
}

/** Reports whether a member has accepted a claim or a roster, and promised a ballot above the one that goes with it. */
function isPrepared(world: World, name: Name): boolean {
  const { quorum } = (world.services[name].record(ROSTER) ?? {}) as Partial<LeaseRecord>;
  if (quorum === undefined) return false;
  const { promised, accepted } = JSON.parse(quorum) as Record<string, { round: number } | null>;
  return accepted !== undefined && accepted !== null && (promised?.round ?? 0) > accepted.round + 1;
}

test("an election does not begin twice if one process still has a replaced store", async () => {
  const world = await World.founded();
  const old = world.open("old");
  await old.get();
  const renewed = world.open("renewed", { c: new SimulatedRecordService(world.clock) });
  await write(world, renewed, OTHER_ELECTION, 4);
  // The process `renewed` reads all, and its writes do not arrive at a. For the process `old`, b is silent.
  world.passage = ({ by, to, operation }) =>
    (by === "renewed" && to === "a" && operation === "put") || (by === "old" && to === "b") ? LOST : undefined;
  let count = 0;
  for (let times = 0; times < 3; times += 1) count += await stored(world, "mine", [renewed, old]);
  expect(count).toBeLessThanOrEqual(1);

  world.passage = () => undefined;
  expect(count + (await stored(world, "mine", [renewed]))).toBe(1);
});

test("an election does not begin twice if a process still has a majority of replaced stores", async () => {
  const world = await World.founded();
  const old = world.open("old");
  await old.get();
  const [b, c] = [new SimulatedRecordService(world.clock), new SimulatedRecordService(world.clock)];
  await write(world, world.open("renewed", { c }), OTHER_ELECTION, 4);
  const renewed = world.open("renewed again", { b, c });
  await write(world, renewed, OTHER_ELECTION, 4);
  world.passage = ({ by, to }) => (by === "old" && to === "a" ? LOST : undefined);

  expect(await stored(world, "mine", [old])).toBe(0);
  expect(await stored(world, "mine", [renewed])).toBe(1);
});

test("a first write that only one member has accepted is completed, also if every store was replaced", async () => {
  const world = await World.founded();
  const one = world.open("one");
  for (const name of ["a", "b", "c"] as const) {
    await write(world, one, OTHER_ELECTION, 3);
    world.empty(name);
    await write(world, one, OTHER_ELECTION, 8);
  }
  let writes = 0;
  world.passage = ({ operation }) => (operation === "put" && (writes += 1) > 4 ? LOST : undefined);
  await expect(one.put("first")).rejects.toMatchObject({ mayHaveBeenApplied: true });
  world.passage = () => undefined;

  expect(nonceOf(await world.open("other").get())).toBe("first");
});

test("the record at the only remaining original member does not count, if no write came between two replacements", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, ELECTION, 2);
  world.down.add("a");
  await write(world, one, ELECTION, 1);
  world.down.delete("a");
  for (const name of ["c", "b"] as const) {
    await write(world, one, OTHER_ELECTION, 3);
    world.empty(name);
    await write(world, one, OTHER_ELECTION, 8);
  }

  const other = world.open("other");
  await expect(other.get()).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  expect(await stored(world, "fork", [other, one])).toBe(0);
});

test("if two processes found a quorum with different stores under one name, only one succeeds", async () => {
  const world = new World();
  const begin = [world.open("one"), world.open("other", { c: new SimulatedRecordService(world.clock) })];
  // Each process has read the markers of a and b once more. From then on it is cut off from one of them.
  const seen = new Set<string>();
  world.passage = ({ by, to }) => {
    const isCut = (by === "one" && to === "b") || (by === "other" && to === "a");
    if (!isCut || !world.services[to].record(MARKER)) return undefined;
    return seen.size === seen.add(by).size ? LOST : undefined;
  };
  let count = 0;
  for (let times = 0; times < 4; times += 1) count += await stored(world, "mine", begin);
  expect(count).toBeLessThanOrEqual(1);

  world.passage = () => undefined;
  for (let times = 0; times < 4; times += 1) count += await stored(world, "mine", begin);
  expect(count).toBe(1);
});

/** Reports whether all three stores have promised a ballot of the roster. */
function haveAllPromised({ services }: World): boolean {
  return Object.values(services).every((store) => store.record(ROSTER) !== undefined);
}

test("a quorum does not begin while a member has not accepted it: that member may begin another one, with other stores", async () => {
  const world = new World();
  const [b, c] = [new SimulatedRecordService(world.clock), new SimulatedRecordService(world.clock)];
  const [one, other] = [world.open("one"), world.open("other", { b, c })];
  world.passage = ({ by, to }) => (by === "one" && to === "a" && haveAllPromised(world) ? LOST : undefined);
  let count = await stored(world, "mine", [one]);
  count += await stored(world, "yours", [other]);
  count += await stored(world, "mine", [world.open("third")]);
  world.passage = ({ by, to }) => (by === "fourth" && to === "a" ? LOST : undefined);
  count += await stored(world, "mine", [world.open("fourth")]);
  world.passage = () => undefined;
  for (let times = 0; times < 4; times += 1) count += await stored(world, "mine", [one, other]);

  expect(count).toBe(1);
});

test("a process that reads a majority of a quorum that has not begun does not begin it: the other member may begin another", async () => {
  const world = new World();
  const [b, c] = [new SimulatedRecordService(world.clock), new SimulatedRecordService(world.clock)];
  world.passage = ({ by, to }) => (by === "one" && to === "a" && haveAllPromised(world) ? LOST : undefined);
  const one = world.open("one");
  let count = await stored(world, "mine", [one]);
  one.clock.kill();
  world.passage = ({ by, to }) => (by === "third" && to === "a" ? LOST : undefined);
  const third = world.open("third");
  count += await stored(world, "mine", [third]);
  third.clock.kill();
  // The promise that `fourth` asks of a arrives. The accept does not.
  let puts = 0;
  world.passage = ({ by, to, operation }) =>
    by === "fourth" && to === "a" && operation === "put" && (puts += 1) > 1 ? LOST : undefined;
  count += await stored(world, "mine", [world.open("fourth")]);
  expect([rosterAt(world, "b"), rosterAt(world, "c")]).toEqual([0, 0]);
  world.passage = () => undefined;
  const other = world.open("other", { b, c });
  for (let times = 0; times < 4; times += 1) count += await stored(world, "yours", [other]);

  expect(count).toBeLessThanOrEqual(1);
});

test("a member that has accepted a claim, and missed the roster, does not begin another quorum with other stores", async () => {
  const world = new World();
  const [b, c] = [new SimulatedRecordService(world.clock), new SimulatedRecordService(world.clock)];
  world.passage = ({ to, operation }) => (to === "a" && operation === "put" && isPrepared(world, "a") ? LOST : undefined);
  const one = world.open("one");
  expect(await stored(world, "mine", [one])).toBe(1);
  one.clock.kill();
  expect(rosterAt(world, "a")).toBe(0);
  world.passage = () => undefined;

  const other = world.open("other", { b, c });
  expect(await stored(world, "yours", [other])).toBe(0);
  expect([rosterAt(world, "a"), b.record(ROSTER), c.record(ROSTER)]).toEqual([0, undefined, undefined]);
});

test("a store that was replaced before a quorum has begun does not block it, although a claim of it was accepted", async () => {
  const world = new World();
  let accepts = 0;
  world.passage = ({ by, operation, to }) =>
    by === "one" && operation === "put" && haveAllPromised(world) && (to === "c" || (accepts += 1) > 2) ? LOST : undefined;
  const one = world.open("one");
  await one.put("mine").catch(() => undefined);
  one.clock.kill();
  const other = world.open("other", { c: new SimulatedRecordService(world.clock) });
  expect(await stored(world, "yours", [other])).toBe(1);
});

test.for([
  ["has the claim", false],
  ["gets the first roster late", true],
] as const)(
  "a quorum begins although a former store's claim replaces an accepted one, and one member %s",
  async ([, getsRoster]) => {
    const world = new World();
    const former = new SimulatedRecordService(world.clock);
    const haveAllAccepted = (): boolean => NAMES.every((name) => rosterAt(world, name) === 0);
    world.passage = ({ by, to, operation }) => {
      if (operation !== "put") return undefined;
      if (by === "former") return ((former.record(ROSTER) ?? {}) as Partial<LeaseRecord>).value !== undefined ? LOST : undefined;
      if (by !== "one" || !haveAllAccepted()) return undefined;
      if (!getsRoster) return LOST;
      if (!NAMES.every((name) => isPrepared(world, name))) return undefined;
      return to === "c" ? { arrivals: [{ afterMs: 2_500 }] } : LOST;
    };
    const one = world.open("one");
    await world.clock.runUntil(Promise.allSettled([one.startPut("first", undefined, 400)]));
    one.clock.kill();
    const other = world.open("former", { c: former });
    expect(await stored(world, "second", [other])).toBe(0);
    other.clock.kill();
    await world.clock.advance(3_000);
    expect(NAMES.map((name) => rosterAt(world, name))).toEqual([0, 0, Number(getsRoster)]);

    expect(await stored(world, "mine", [world.open("third")])).toBe(1);
  },
);

/** Returns the text of the roster or claim that a store keeps. */
function shownAt(store: SimulatedRecordService): string | undefined {
  return ((store.record(ROSTER) ?? {}) as Partial<LeaseRecord>).value;
}

/**
 * Returns a world in which the first roster of a, b and c has arrived only at c. Another c was given to another process. Its claim
 * has replaced the first one at a, not at b. Both processes have died.
 */
async function withClaimsAtAAndB(): Promise<{ readonly world: World; readonly c: SimulatedRecordService }> {
  const world = new World();
  const c = new SimulatedRecordService(world.clock);
  let areAllPrepared = false;
  world.passage = ({ by, to, operation }) => {
    if (operation !== "put") return undefined;
    areAllPrepared ||= NAMES.every((name) => isPrepared(world, name));
    if (by === "one") return areAllPrepared && to !== "c" ? LOST : undefined;
    return to === "b" ? { arrivals: [{ afterMs: 3, replyAfterMs: 1 }] } : undefined;
  };
  const [one, other] = [world.open("one"), world.open("other", { c })];
  void one.startPut("lost").catch(() => undefined);
  while (rosterAt(world, "c") !== 1) await world.clock.advance(1);
  one.clock.kill();
  const first = shownAt(world.services.a);
  void other.startPut("lost").catch(() => undefined);
  while (shownAt(world.services.a) === first) await world.clock.advance(1);
  other.clock.kill();
  // The claim does not replace a record that was written in between.
  world.services.b.overwrite(ROSTER, world.services.b.record(ROSTER));
  await world.clock.advance(10);
  expect(shownAt(world.services.b)).toBe(first);
  expect(shownAt(world.services.a)).toBe(shownAt(c));
  world.passage = () => undefined;
  return { world, c };
}

test("only one of three lists begins, of which each shares two stores with the one before", async () => {
  const { world, c } = await withClaimsAtAAndB();
  const third = world.open("third", { b: new SimulatedRecordService(world.clock), c });
  expect(await stored(world, "mine", [third])).toBe(0);
  world.passage = ({ by, to }) => (by === "fourth" && to === "a" ? LOST : undefined);
  const fourth = world.open("fourth");
  for (let times = 0; times < 2; times += 1) await fourth.get().catch(() => undefined);

  expect(await stored(world, "yours", [fourth])).toBe(1);
});

test("a claim is not completed while one of its stores has forgotten what it may have accepted since", async () => {
  const { world, c } = await withClaimsAtAAndB();
  world.passage = ({ by, to }) => (by === "third" && to === "a" ? LOST : undefined);
  const third = world.open("third");
  for (let times = 0; times < 2; times += 1) await third.get().catch(() => undefined);
  expect(await stored(world, "any", [third])).toBe(1);
  third.clock.kill();
  for (const election of [ROSTER, ELECTION]) world.services.b.remove(election);

  expect(await stored(world, "mine", [world.open("fourth", { c })])).toBe(0);
});

test("a claim is not replaced while one of the stores that both name has forgotten what it may have accepted", async () => {
  const world = new World();
  const c = new SimulatedRecordService(world.clock);
  world.passage = ({ to, operation }) => (to === "b" && operation === "put" && isPrepared(world, "b") ? LOST : undefined);
  const one = world.open("one");
  expect(await stored(world, "any", [one])).toBe(1);
  one.clock.kill();
  expect(rosterAt(world, "b")).toBe(0);
  for (const election of [ROSTER, ELECTION]) world.services.a.remove(election);
  world.passage = () => undefined;

  expect(await stored(world, "mine", [world.open("other", { c })])).toBe(0);
  expect([rosterAt(world, "b"), c.record(ROSTER)]).toEqual([0, undefined]);
});

/** Returns a world in which a claim of another c has replaced a claim of the first one. The processes of both have died. */
async function withTwoClaims(): Promise<{ readonly world: World; readonly second: SimulatedRecordService }> {
  const world = new World();
  const second = new SimulatedRecordService(world.clock);
  for (const [by, c] of [["one", world.services.c] as const, ["other", second] as const]) {
    world.passage = ({ operation }) => (operation === "put" && shownAt(c) !== undefined ? LOST : undefined);
    const dying = world.open(by, { c });
    void dying.startPut("lost").catch(() => undefined);
    while (shownAt(c) === undefined) await world.clock.advance(1);
    await world.clock.advance(1);
    dying.clock.kill();
  }
  world.passage = () => undefined;
  expect(shownAt(world.services.a)).toBe(shownAt(second));
  return { world, second };
}

test("a quorum begins although two stores of one name were replaced before, each after a claim", async () => {
  const { world } = await withTwoClaims();

  expect(await stored(world, "mine", [world.open("third", { c: new SimulatedRecordService(world.clock) })])).toBe(1);
});

test("a quorum that claims of other stores block says so, and begins once all stores are emptied", async () => {
  const { world, second } = await withTwoClaims();
  const other = { b: new SimulatedRecordService(world.clock), c: second };
  const third = world.open("third", other);
  const why = "a: its quorum was to begin with another store as b: give every process that store.";
  for (let times = 0; times < 2; times += 1) {
    const put = world.clock.runUntil(third.startPut("mine", undefined, 20_000));
    await expect(put).rejects.toMatchObject({ code: "STORE_TIMEOUT", message: expect.stringContaining(why) });
  }

  third.clock.kill();
  for (const store of [world.services.a, second]) for (const election of [MARKER, ROSTER]) store.remove(election);
  expect(await stored(world, "mine", [world.open("fourth", other)])).toBe(1);
});

/** Returns the ballot that a store has promised last for the roster, as text. */
function promisedAt(store: SimulatedRecordService): string | undefined {
  const { quorum } = (store.record(ROSTER) ?? {}) as Partial<LeaseRecord>;
  return quorum === undefined ? undefined : JSON.stringify((JSON.parse(quorum) as { promised: unknown }).promised);
}

test("only stores that the newest roster names choose the next one, although all members answer", async () => {
  const world = new World();
  const c = new SimulatedRecordService(world.clock);
  // Promises to this process arrive only at c. So c has promised more than the next process will know.
  const isMarked = (name: Name): boolean => {
    const { quorum } = (world.services[name].record(MARKER) ?? {}) as Partial<LeaseRecord>;
    return quorum !== undefined && (JSON.parse(quorum) as { accepted: unknown }).accepted !== null;
  };
  world.passage = ({ to, operation }) => (to !== "c" && operation === "put" && isMarked(to as Name) ? LOST : undefined);
  const early = world.open("early");
  expect(await stored(world, "lost", [early])).toBe(0);
  await world.clock.advance(4_000);
  early.clock.kill();
  world.passage = ({ to, operation }) => (to === "a" && operation === "put" && isPrepared(world, "a") ? LOST : undefined);
  const one = world.open("one", { c });
  expect(await stored(world, "any", [one])).toBe(1);
  one.clock.kill();
  expect([rosterAt(world, "a"), rosterAt(world, "b")]).toEqual([0, 1]);
  // Each promise arrives, and no accept arrives at a.
  const { a, b } = world.services;
  world.passage = ({ to, operation }) =>
    to === "a" && operation === "put" && promisedAt(a) === promisedAt(b) ? LOST : undefined;

  const other = world.open("other");
  const healed = world.clock.runUntil(other.store.heal("c", [], { timeoutMs: 3_000 }));
  await expect(healed).rejects.toMatchObject({ code: "CONFIGURATION" });
});

test("a first roster that only one member has accepted is not completed by another member's promise to another process", async () => {
  const world = new World();
  const a = new SimulatedRecordService(world.clock);
  const [one, other] = [world.open("one"), world.open("other", { a })];
  let hasOtherPromises = false;
  world.passage = ({ by, to, operation }) => {
    const areAllPrepared = hasOtherPromises || (["a", "b", "c"] as const).every((name) => isPrepared(world, name));
    if (by === "other" && operation === "put" && a.record(ROSTER)) {
      hasOtherPromises = true;
      return to === "c" ? LOST : undefined;
    }
    if (by !== "one" || !areAllPrepared) return undefined;
    // Of the accepts of `one` only its own a hears. After that `one` hears nothing of b.
    if (hasOtherPromises) return to === "b" ? LOST : undefined;
    return operation === "put" && to !== "a" ? LOST : undefined;
  };
  const late = one.startPut("mine", undefined, 8_000);
  while (rosterAt(world, "a") !== 1) await world.clock.advance(1);
  const yours = other.startPut("yours", undefined, 8_000);
  const outcomes = await world.clock.runUntil(Promise.allSettled([late, yours]));
  expect(hasOtherPromises).toBe(true);

  world.passage = () => undefined;
  let count = outcomes.filter((outcome) => outcome.status === "fulfilled" && outcome.value.stored).length;
  for (let times = 0; times < 4; times += 1) count += await stored(world, "fork", [one, other]);
  expect(count).toBe(1);
});

test("a first roster that only one member has accepted is not completed while another store may complete another one", async () => {
  const world = new World();
  const c = new SimulatedRecordService(world.clock);
  const [one, other, third] = [world.open("one"), world.open("other", { c }), world.open("third")];
  const hasAccepted = (store: SimulatedRecordService): boolean =>
    ((store.record(ROSTER) ?? {}) as Partial<LeaseRecord>).value !== undefined;
  let putsToB = 0;
  world.passage = ({ by, to, operation }) => {
    if (by === "one") {
      return hasAccepted(world.services.c) || (operation === "put" && haveAllPromised(world) && to !== "c") ? LOST : undefined;
    }
    if (operation !== "put" || !c.record(ROSTER)) return undefined;
    // The accept of `other` arrives at its own c, and late at b. By then a and the former c have promised to `third`.
    if (by === "third") return to === "b" ? LOST : undefined;
    if (to === "a") return LOST;
    return to === "b" && ++putsToB === 1 ? { arrivals: [{ afterMs: 450, replyAfterMs: 1 }] } : undefined;
  };
  await one.put("mine").catch(() => undefined);
  const yours = other.startPut("yours", undefined, 8_000);
  while (!hasAccepted(c)) await world.clock.advance(1);
  const outcomes = await world.clock.runUntil(Promise.allSettled([yours, third.startPut("third", undefined, 8_000)]));

  world.passage = () => undefined;
  let count = outcomes.filter((outcome) => outcome.status === "fulfilled" && outcome.value.stored).length;
  for (let times = 0; times < 4; times += 1) count += await stored(world, "fork", [other, third]);
  expect(count).toBe(1);
});

test("a first roster that only one member has accepted is completed if all members answer, whatever they have promised", async () => {
  const world = new World();
  const lost: string[] = [];
  world.passage = ({ by, to, operation }) => {
    if (operation !== "put" || !haveAllPromised(world)) return undefined;
    if (by === "one") return to === "a" ? { arrivals: [{ afterMs: 50 }] } : LOST;
    // The first promise request of `other` does not arrive at a.
    return to === "a" && lost.push(by) === 1 ? LOST : undefined;
  };
  const late = world
    .open("one")
    .startPut("mine")
    .catch(() => undefined);
  await world.clock.advance(20);
  expect(await world.clock.runUntil(world.open("other").startPut("yours", undefined, 4_000))).toMatchObject({ stored: true });
  await world.clock.runUntil(late);
});

/** Returns a quorum with an election, whose roster has not arrived at b. The process that founded it has died. */
async function withoutRosterAtB(): Promise<World> {
  const world = new World();
  world.passage = ({ to, operation }) => (to === "b" && operation === "put" && isPrepared(world, "b") ? LOST : undefined);
  await world.open("one").put("first");
  world.passage = ({ by }) => (by === "one" ? LOST : undefined);
  expect([rosterAt(world, "a"), rosterAt(world, "b")]).toEqual([1, 0]);
  return world;
}

test("a process that starts while one member hangs, and another has missed the roster, reads the election", async () => {
  const world = await withoutRosterAtB();
  world.down.add("c");

  const other = world.open("other");
  await other.get().catch(() => undefined);
  expect(nonceOf(await other.get())).toBe("first");
});

test("a read that cannot find out the roster fails and does not report a vacant election", async () => {
  const world = await withoutRosterAtB();
  const error = Object.assign(new Error("denied"), { code: "ACCESS" });
  world.passage = ({ to, operation }) =>
    to === "c" || operation === "put" ? { arrivals: [], breaks: { afterMs: 1, error } } : undefined;

  await expect(world.open("observer").get()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
});

test("a write that was sent may have been applied, also if the roster is unknown afterwards", async () => {
  const world = await World.founded();
  const old = world.open("old");
  await write(world, old, ELECTION, 2);
  const renewed = world.open("renewed", { c: new SimulatedRecordService(world.clock) });
  await write(world, renewed, OTHER_ELECTION, 4);
  const base = (await old.get())?.version;
  world.passage = ({ by, to, operation }) => {
    if (by !== "old" || to === "c") return undefined;
    if (operation === "get") return to === "a" ? LOST : undefined;
    return to === "a" ? { arrivals: [{ afterMs: 1 }] } : LOST;
  };
  const mine = old.startPut("mine", base).catch((error: unknown) => error);
  await world.clock.advance(10);
  await write(world, renewed, ELECTION, 0);
  expect(nonceOf(await renewed.get())).toBe("mine");

  expect(await world.clock.runUntil(mine)).toMatchObject({ mayHaveBeenApplied: true, election: ELECTION });
});

test("a process that starts and writes gives the roster to a member that was restored from an older backup", async () => {
  const world = await World.founded();
  const backup = world.services.a.backUp(ROSTER);
  world.empty("c");
  await write(world, world.open("one"), ELECTION, 2);
  world.services.a.restore(ROSTER, backup);
  await write(world, world.open("other"), ELECTION, 2);

  expect([rosterAt(world, "a"), rosterAt(world, "b"), rosterAt(world, "c")]).toEqual([2, 2, 2]);
});

test("a late write to a store that had no record does not make an emptied store pass for the former one", async () => {
  const world = await World.founded();
  const [one, other] = [world.open("one"), world.open("other")];
  await Promise.all([one.get(), other.get()]);
  // Only a accepts the first write. c, silent until then, gets it a minute late.
  let putsToA = 0;
  let isCut = false;
  world.passage = ({ by, to, operation }) => {
    if (by === "other") return to === "a" ? { arrivals: [] } : undefined;
    const isPut = operation === "put";
    if (isCut || (to === "c" && putsToA < 2) || (to === "b" && isPut && putsToA === 2)) return { arrivals: [] };
    if (to === "a" && isPut) putsToA += 1;
    isCut = to === "c" && isPut;
    return isCut ? { arrivals: [{ afterMs: 60_000 }] } : undefined;
  };
  await expect(one.put("first")).rejects.toMatchObject({ mayHaveBeenApplied: true });
  expect(isCut).toBe(true);
  expect(await other.put("second")).toMatchObject({ stored: true });

  world.empty("c");
  await world.clock.advance(61_000);
  world.passage = () => undefined;
  world.down.add("b");
  await expect(one.get()).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  world.down.delete("b");
  expect(nonceOf(await one.get())).toBe("second");
});
