/** Tests how long a process waits before it reads or tries again. */
import type { LeaseRecord } from "@leasehold/core/provider";
import { expect, test } from "vitest";
import { MARKER } from "../src/roster.ts";
import { begun, ELECTION, versionOf, World, write } from "./world.ts";

/** Returns a world in which a write has arrived at one member only. */
async function split(): Promise<World> {
  const { world, one, first } = await begun();
  await world.clock.advance(2_000);
  world.passage = ({ operation, to }) => (operation === "put" && to !== "a" ? { arrivals: [] } : undefined);
  await one.put("second", first).catch(() => undefined);
  world.passage = () => undefined;
  return world;
}

test.for([
  [1_000, 20, 100],
  // Half of the time that a member has.
  [400, 10, 50],
] as const)("a split is read again after a random pause: for a call of %d ms, %d to %d ms", async ([timeoutMs, least, most]) => {
  const world = await split();
  const pauses: number[] = [];
  for (let looks = 0; looks < 40; looks += 1) {
    const by = world.open(`looker ${looks}`);
    // After this read the process knows the roster.
    await world.clock.runUntil(by.store.get("any", { consistent: false, signal: new AbortController().signal, timeoutMs }));
    const sentMs: number[] = [];
    world.passage = ({ to }) => {
      if (to === "a") sentMs.push(world.clock.monotonicMs());
      return { arrivals: [{ afterMs: 0, replyAfterMs: 0 }] };
    };
    await world.clock.runUntil(by.store.get(ELECTION, { consistent: false, signal: new AbortController().signal, timeoutMs }));
    world.passage = () => undefined;
    pauses.push(sentMs[1]! - sentMs[0]!);
  }
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(least);
  expect(Math.min(...pauses)).toBeLessThan(least + (most - least) / 4);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(most);
  expect(Math.max(...pauses)).toBeGreaterThan(most - (most - least) / 4);
});

test.each([
  { how: "is silent", breaks: undefined },
  { how: "refuses writes", breaks: { afterMs: 1, error: Object.assign(new Error("denied"), { code: "ACCESS" }) } },
])(
  "a store that is to be taken in and $how is tried again about once a second, however often anything is written",
  async ({ breaks }) => {
    const world = await World.founded();
    const one = world.open("one");
    await write(world, one, ELECTION, 2);
    world.empty("c");
    const attemptsMs: number[] = [];
    world.passage = ({ operation, to }) => {
      if (operation !== "put" || to !== "c") return undefined;
      // The first write after the loss detects it.
      if (world.services.c.record(MARKER) === undefined) attemptsMs.push(world.clock.monotonicMs());
      return { arrivals: [], breaks };
    };
    await write(world, one, ELECTION, 20);
    const [beganMs = 0, lastMs = 0] = [attemptsMs[1], attemptsMs.at(-1)];
    const seconds = (lastMs - beganMs) / 1_000;

    expect(seconds).toBeGreaterThan(30);
    expect(attemptsMs.length).toBeGreaterThan(seconds / 4);
    expect(attemptsMs.length).toBeLessThan(seconds * 1.3);
  },
);

test("the pauses grow while a split can be neither answered nor completed", async () => {
  const world = await World.founded();
  await write(world, world.open("one"), ELECTION, 2);
  // A write whose replaced record no member has any more.
  const record = world.services.a.record(ELECTION) as LeaseRecord;
  const note = JSON.parse(record.quorum ?? "") as Record<string, unknown>;
  const later = { round: 50, proposer: "nobody" };
  const lost = { ...note, promised: later, accepted: later, write: "later", base: "gone" };
  world.services.a.overwrite(ELECTION, { ...record, quorum: JSON.stringify(lost) });
  const error = Object.assign(new Error("denied"), { code: "ACCESS" });
  world.passage = ({ operation }) => (operation === "put" ? { arrivals: [], breaks: { afterMs: 1, error } } : undefined);
  world.requests();

  await expect(world.open("observer").get()).rejects.toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: false });
  // After about 60, 120, 240 and 480 ms: each time one read that sees the split, and one that tries to complete it.
  const looks = world.requests().filter((request) => request === "observer get a").length;
  expect(looks).toBeGreaterThan(4);
  expect(looks).toBeLessThan(16);
});

test("a writer that meets another process's promise waits once before it goes above that promise", async () => {
  const world = await World.founded();
  const [one, dying, next] = [world.open("one"), world.open("dying"), world.open("next")];
  const first = versionOf(await one.put("first"));
  await world.clock.advance(2_000);
  let writes = 0;
  world.passage = ({ by, operation }) =>
    by === "dying" && operation === "put" && (writes += 1) > 3 ? { arrivals: [] } : undefined;
  await dying.put("never", first).catch(() => undefined);
  await next.get(false);
  world.requests();
  const beganMs = world.clock.monotonicMs();

  await expect(next.put("second", first)).resolves.toMatchObject({ stored: true });
  const [x, y, z] = ["a", "b", "c"].map((name) => `next get ${name}`);
  expect(world.requests().slice(0, 7)).toEqual([x, y, z, x, y, z, "next put a"]);
  expect(world.clock.monotonicMs() - beganMs).toBeGreaterThan(20);
});

test("the pause before a rival's promise is random, of 20 to 100 ms", async () => {
  const pauses: number[] = [];
  for (let draws = 0; draws < 20; draws += 1) {
    const world = await World.founded();
    const [one, dying, next] = [world.open("one"), world.open("dying"), world.open("next")];
    const first = versionOf(await one.put("first"));
    await world.clock.advance(2_000);
    let writes = 0;
    const sentMs: number[] = [];
    world.passage = ({ by, to, operation }) => {
      if (by === "next" && to === "a" && operation === "get") sentMs.push(world.clock.monotonicMs());
      return by === "dying" && operation === "put" && (writes += 1) > 3 ? { arrivals: [] } : undefined;
    };
    await dying.put("never", first).catch(() => undefined);
    await next.get(false);
    sentMs.length = 0;
    for (let draw = 0; draw < draws; draw += 1) world.clock.random();
    await next.put("second", first);
    pauses.push(sentMs[1]! - sentMs[0]!);
  }
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(20);
  expect(Math.min(...pauses)).toBeLessThan(40);
  expect(Math.max(...pauses)).toBeGreaterThan(80);
  // The bound includes the time of its requests.
  expect(Math.max(...pauses)).toBeLessThan(105);
});

test("a seal reads again after a random pause while its member is silent", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await one.put("first");
  world.down.add("c");
  const sentMs: number[] = [];
  world.passage = ({ to, operation }) => {
    if (to === "a" && operation === "get") sentMs.push(world.clock.monotonicMs());
    return undefined;
  };
  const leadership = { election: ELECTION, term: 1, termId: "t" };
  const sealing = one.store.seal(leadership, "c", { timeoutMs: 4_000 });
  await expect(world.clock.runUntil(sealing)).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  expect(sentMs.length).toBeGreaterThanOrEqual(3);
  for (const [at, ms] of sentMs.entries()) {
    if (at === 0) continue;
    // Subtracts the time of one member: a quarter of the call's.
    const pauseMs = ms - sentMs[at - 1]! - 1_000;
    expect(pauseMs).toBeGreaterThanOrEqual(20);
    expect(pauseMs).toBeLessThan(110);
  }
});
