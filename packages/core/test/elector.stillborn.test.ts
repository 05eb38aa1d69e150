import type { ElectorEvents } from "@leasehold/core";
import { ProcessClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, RENEW_DEADLINE_MS, VALID_FOR_MS, type Candidate } from "./election-world.ts";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

let world: ElectionWorld;
let a: Candidate;
let tasks: number;

beforeEach(() => {
  world = new ElectionWorld();
  a = world.candidate("a");
  tasks = 0;
});

const count = (): void => void (tasks += 1);

/** Lets a listener act on the first term, before its task could be called. */
function once(name: "startedLeading" | "newLeader", act: () => void): void {
  let done = false;
  a.elector.on(name, (event: ElectorEvents[typeof name]) => {
    if (done || ("leader" in event && event.leader?.candidateId !== "a")) return;
    done = true;
    act();
  });
}

describe.each(["startedLeading", "newLeader"] as const)(
  "a term that has ended by the time that listeners of %s return",
  (name) => {
    test.each([
      ["is ending", RENEW_DEADLINE_MS, true],
      ["is over", VALID_FOR_MS, false],
    ])("because a listener stalled until it %s: run calls no task on it, and campaigns again", async (_, stallMs, released) => {
      once(name, () => world.clock.freeze(stallMs));
      const terms: number[] = [];
      const run = a.run(async (leadership) => {
        terms.push(leadership.term);
        await untilAborted(leadership);
      });

      await world.clock.advance(3 * LEASE_MS);

      expect(terms).toEqual([2]);
      expect(a.events.all("stoppedLeading")).toMatchObject([{ term: 1, released }]);
      run.stop();
      await run.settled;
    });

    test("because a listener resigned it: run calls no task, releases, and campaigns again after the cooldown", async () => {
      once(name, () => void a.elector.resign());
      const run = a.run(count);
      await world.clock.settle();

      expect([tasks, world.service.record(ELECTION)?.termId]).toEqual([0, null]);
      run.stop();
      await run.settled;
    });

    test("because a listener aborted the caller's signal: run releases and resolves without having called the task", async () => {
      const stopping = new AbortController();
      once(name, () => stopping.abort());

      await a.elector.run(count, { signal: stopping.signal });

      expect([tasks, world.service.record(ELECTION)?.termId]).toEqual([0, null]);
    });

    test("tryRun returns that it was not elected", async () => {
      once(name, () => void a.elector.resign());

      expect(await a.elector.tryRun(count)).toEqual({ elected: false });
      expect([tasks, world.service.record(ELECTION)?.termId]).toEqual([0, null]);
    });

    test("tryRun rejects with the reason if the caller's signal has aborted", async () => {
      const stopping = new AbortController();
      once(name, () => stopping.abort(new Error("enough")));

      await expect(a.elector.tryRun(count, { signal: stopping.signal })).rejects.toThrow("enough");
      expect([tasks, world.service.record(ELECTION)?.termId]).toEqual([0, null]);
    });

    test.each([
      ["resigned", () => void a.elector.resign()],
      ["stalled", () => world.clock.freeze(RENEW_DEADLINE_MS)],
      ["stalled for longer", () => world.clock.freeze(VALID_FOR_MS)],
    ])("campaign returns the next term instead if it was %s", async (_, act) => {
      once(name, act);

      const leadership = await world.clock.runUntil(a.elector.campaign());

      expect([leadership.term, leadership.isValid(), leadership.signal.aborted]).toEqual([2, true, false]);
      await leadership.release();
    });

    test("campaign rejects with the reason if the caller's signal has aborted, and leaves the lease free", async () => {
      const stopping = new AbortController();
      once(name, () => stopping.abort(new Error("enough")));

      await expect(a.elector.campaign({ signal: stopping.signal })).rejects.toThrow("enough");
      expect(world.service.record(ELECTION)?.termId).toBe(null);
    });
  },
);

test("a wall clock that shows a suspension before the task is called ends the term, too", async () => {
  const process = new ProcessClock(world.clock);
  a = world.candidate("a", { clock: process });
  once("startedLeading", () => process.jumpWall(VALID_FOR_MS));
  const terms: number[] = [];
  const run = a.run(async (leadership) => {
    terms.push(leadership.term);
    await untilAborted(leadership);
  });

  await world.clock.advance(3 * LEASE_MS);

  expect(terms).toEqual([2]);
  run.stop();
  await run.settled;
});
