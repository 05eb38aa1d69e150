import { Elector } from "@leasehold/core";
import { ExpiringMap } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { ELECTION, RENEW_INTERVAL_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld } from "./election-world.ts";

const HOUR_MS = 3_600_000;

test("new entries remove entries that were not read for an hour, and entries that are read stay", async () => {
  const clock = new VirtualClock();
  const recent = new ExpiringMap<number>(clock);
  recent.set("asked for", 1);
  for (let second = 0; second < 6 * 3_600; second += 1) {
    recent.set(`name ${second}`, second);
    expect(recent.get("asked for")).toBe(1);
    clock.freeze(1_000);
  }
  // An hour's names, and those that have not been checked yet: at most twice as many.
  expect(recent.size).toBeLessThanOrEqual(2 * 3_600);
  expect(recent.get("name 0")).toBeUndefined();
  expect(recent.get(`name ${5 * 3_600 + 1}`)).toBe(5 * 3_600 + 1);
});

test("each new entry removes two old ones, so that they go faster than new ones come", () => {
  const clock = new VirtualClock();
  const recent = new ExpiringMap<number>(clock);
  for (let name = 0; name < 1_000; name += 1) recent.set(`crowd ${name}`, name);
  clock.freeze(HOUR_MS);

  recent.set("new", 0);
  expect(recent.size).toBe(1_000 - 2 + 1);
  for (let name = 1; name < 500; name += 1) recent.set(`new ${name}`, name);

  expect(recent.size).toBe(500);
});

test("an entry that is kept for longer stays exactly that long", () => {
  const clock = new VirtualClock();
  const recent = new ExpiringMap<number>(clock);
  recent.set("kept", 1);
  recent.keep("kept", 3 * HOUR_MS);
  clock.freeze(3 * HOUR_MS - 1);
  recent.set("new", 2);
  clock.freeze(1);
  for (const name of ["newer", "newest"]) recent.set(name, 3);
  expect(recent.size).toBe(2 + 1);
  expect(recent.get("kept")).toBeUndefined();
});

test("a candidate that polls every few hours observes a long lease expire, even if many other names are used", async () => {
  const world = new ElectionWorld();
  const long = { leaseDurationMs: 12 * HOUR_MS, retryPeriodMs: 12 * HOUR_MS };
  const leader = world.candidate("a", long);
  const run = leader.run();
  await world.clock.advance(1_000);
  const standby = world.candidate("b", long);
  const standing = standby.run();
  await world.clock.advance(1_000);
  leader.records.failAll({ kind: "lost" });

  for (let minutes = 0; minutes < 40 * 60; minutes += 5) {
    await standby.store.read(`other ${minutes}`);
    await new Elector({ store: standby.store, election: `another ${minutes}` }).tryRun(() => undefined);
    await world.clock.advance(300_000);
  }

  expect(standby.elector.isLeader).toBe(true);
  run.stop();
  standing.stop();
  await world.clock.runUntil(Promise.all([run.settled, standing.settled]), 100 * HOUR_MS);
});

test("a candidate that has led for a day notices that its record has gone back, even if many other names are used", async () => {
  const world = new ElectionWorld();
  const leader = world.candidate("a");
  const run = leader.run();
  await world.clock.advance(1_000);
  for (let minutes = 0; minutes < 24 * 60; minutes += 1) {
    await new Elector({ store: leader.store, election: `other ${minutes}` }).tryRun(() => undefined);
    await world.clock.advance(60_000);
  }

  world.service.remove(ELECTION);
  await world.clock.advance(10 * RENEW_INTERVAL_MS);

  expect(leader.elector.isLeader).toBe(false);
  expect(world.service.record(ELECTION)).toBeUndefined();
  expect(leader.events.all("storeFailed").at(-1)).toMatchObject({ error: { code: "TERM_REGRESSED", highestTermSeen: 1 } });
  run.stop();
  await run.settled;
});
