import { isLeaseholdError } from "@leasehold/core";
import { ProcessClock } from "@leasehold/core/testing";
import { failure } from "@leasehold/test-kit/simulated/kubernetes-objects";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { expect, test } from "vitest";
import { ANNOTATION } from "../src/lease-object.ts";
import { ELECTION, KubernetesWorld } from "./kubernetes-world.ts";

const MINUTE_MS = 60_000;

function running(signal: AbortController, ...runs: ReadonlyArray<Promise<unknown>>): () => Promise<void> {
  const settled = Promise.allSettled(runs);
  return async () => {
    signal.abort();
    await settled;
  };
}

test("a Go candidate waits while ours leads, and leads after our release with the next number", async () => {
  const world = new KubernetesWorld();
  const [ours, theirs] = [new AbortController(), new AbortController()];
  const elector = world.elector("ours");
  const go = world.go("theirs");
  const stop = running(ours, elector.run(untilAborted, { signal: ours.signal }));
  await world.clock.advance(1_000);
  const stopGo = running(theirs, go.run(theirs.signal));
  await world.clock.advance(5 * MINUTE_MS);
  expect([elector.isLeader, go.isLeading, world.spec.leaseTransitions]).toEqual([true, false, 1]);
  await world.clock.runUntil(stop());
  await world.clock.advance(10_000);
  expect([elector.isLeader, go.isLeading, world.spec.leaseTransitions]).toEqual([false, true, 2]);
  expect(world.api.lease(ELECTION)?.metadata.annotations).toHaveProperty([ANNOTATION]);
  await world.clock.runUntil(stopGo());
});

test("ours waits while a Go candidate leads, and leads soon after its release with the next number", async () => {
  const world = new KubernetesWorld();
  const [ours, theirs] = [new AbortController(), new AbortController()];
  const go = world.go("theirs");
  const stopGo = running(theirs, go.run(theirs.signal));
  await world.clock.advance(1_000);
  const elector = world.elector("ours");
  const leaders: unknown[] = [];
  elector.on("newLeader", ({ leader }) => leaders.push([leader?.candidateId, leader?.term]));
  const stop = running(ours, elector.run(untilAborted, { signal: ours.signal }));
  await world.clock.advance(5 * MINUTE_MS);
  expect([elector.isLeader, go.isLeading, leaders]).toEqual([false, true, [["theirs", 0]]]);
  await world.clock.runUntil(stopGo());
  await world.clock.advance(3_000);
  expect([elector.isLeader, world.spec.leaseTransitions]).toEqual([true, 1]);
  await world.clock.runUntil(stop());
});

test("the term of ours ends before a Go candidate takes over, and it takes over within its own rules", async () => {
  const world = new KubernetesWorld();
  const process = new ProcessClock(world.clock);
  const [ours, theirs] = [new AbortController(), new AbortController()];
  const elector = world.elector("ours", { process });
  void elector.run(untilAborted, { signal: ours.signal });
  await world.clock.advance(1_000);
  const go = world.go("theirs");
  const overlaps: boolean[] = [];
  go.onChange = () => overlaps.push(elector.isLeader);
  const stopGo = running(theirs, go.run(theirs.signal));
  await world.clock.advance(MINUTE_MS);
  process.pause();
  await world.clock.advance(MINUTE_MS);
  expect([go.isLeading, overlaps]).toEqual([true, [false]]);
  process.resume();
  await world.clock.advance(1_000);
  expect(elector.isLeader).toBe(false);
  ours.abort();
  await world.clock.runUntil(stopGo());
});

test("a break ends a Go leader by its renew deadline, before ours leads", async () => {
  const world = new KubernetesWorld();
  const [ours, theirs] = [new AbortController(), new AbortController()];
  const go = world.go("theirs");
  const leading: Array<[boolean, number]> = [];
  go.onChange = () => leading.push([go.isLeading, world.clock.monotonicMs()]);
  void go.run(theirs.signal);
  await world.clock.advance(1_000);
  const elector = world.elector("ours");
  const stop = running(ours, elector.run(untilAborted, { signal: ours.signal }));
  await world.clock.advance(MINUTE_MS);
  const broken = await world.clock.runUntil(world.store().break(ELECTION, { reason: "stuck" }));
  expect(broken).toMatchObject({ broken: true });
  const started: number[] = [];
  elector.on("startedLeading", () => started.push(world.clock.monotonicMs()));
  await world.clock.advance(MINUTE_MS);
  expect(leading.map(([isLeading]) => isLeading)).toEqual([true, false]);
  expect(started).toHaveLength(1);
  expect(started[0]).toBeGreaterThan(leading[1]![1]);
  await world.clock.runUntil(stop());
});

test("a pause of a Go leader's election is refused, and changes nothing", async () => {
  const world = new KubernetesWorld();
  const theirs = new AbortController();
  const stopGo = running(theirs, world.go("theirs").run(theirs.signal));
  await world.clock.advance(1_000);
  const before = world.api.lease(ELECTION)?.metadata.resourceVersion;
  const error = await world.clock.runUntil(
    world
      .store()
      .pause(ELECTION, { reason: "why not" })
      .catch((reason: unknown) => reason),
  );
  expect(isLeaseholdError(error, "UNSUPPORTED")).toBe(true);
  expect(world.api.lease(ELECTION)?.metadata.resourceVersion).toBe(before);
  await world.clock.runUntil(stopGo());
});

test.for([1, 2, 3, 4, 5])("of two of ours and two Go candidates one leads at a time, through crashes (seed %i)", async (seed) => {
  const world = new KubernetesWorld(seed);
  const stopping = new AbortController();
  const { signal } = stopping;
  let leading: string[] = [];
  const seen: string[][] = [];
  const note = (name: string, isLeading: boolean): void => {
    leading = isLeading ? [...leading, name] : leading.filter((one) => one !== name);
    seen.push(leading);
  };
  const terms: number[] = [];
  const processes = ["a", "b"].map((name) => {
    const process = new ProcessClock(world.clock);
    const elector = world.elector(name, { process });
    elector.on("startedLeading", ({ term }) => terms.push(term));
    void elector.run(
      async (leadership) => {
        note(name, true);
        await untilAborted(leadership);
        note(name, false);
      },
      { signal },
    );
    return process;
  });
  for (const name of ["go-a", "go-b"]) {
    const restart = async (): Promise<void> => {
      while (!signal.aborted) {
        const go = world.go(name);
        go.onChange = () => note(name, go.isLeading);
        await go.run(signal);
      }
    };
    void restart();
  }
  for (let round = 0; round < 20; round += 1) {
    await world.clock.advance(20_000 + world.clock.random() * 40_000);
    // The present leader cannot reach the server for a while.
    const holder = world.spec.holderIdentity ?? "";
    const process = processes[["a_", "b_"].findIndex((name) => holder.startsWith(name))];
    if (process && world.clock.random() < 0.5) {
      process.pause();
      leading = leading.filter((name) => !holder.startsWith(name));
      await world.clock.advance(30_000);
      process.resume();
    } else {
      world.api.intercept = ({ body }) =>
        JSON.stringify(body ?? {}).includes(`"holderIdentity":"${holder}"`)
          ? failure(503, "ServiceUnavailable", "no")
          : undefined;
      await world.clock.advance(30_000);
      world.api.intercept = undefined;
    }
  }
  expect(seen.filter((leaders) => leaders.length > 1)).toEqual([]);
  expect(new Set(seen.flat()).size).toBeGreaterThan(2);
  expect(terms).toEqual(terms.toSorted((one, other) => one - other));
  expect(new Set(terms).size).toBe(terms.length);
  stopping.abort();
  await world.clock.advance(MINUTE_MS);
});
