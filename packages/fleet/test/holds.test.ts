import type { HeldLeadership, TimingReport } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, expect, test } from "vitest";
import { FleetNames } from "../src/fleet-names.ts";
import type { FleetReporter } from "../src/fleet-reporter.ts";
import { Holds, type Shard } from "../src/holds.ts";
import type { Entry, Plan } from "../src/plan.ts";
import type { Ended } from "../src/report.ts";

const SLOT = 3;
const LEASE_MS = 10_000;
const DRAIN_MS = 4_000;

let clock: VirtualClock;
/** The tasks that run, by the names of their shards. Each settles when it is told to. */
let running: Map<string, { readonly shard: Shard; readonly settle: (error?: Error) => void }>;
let ended: Array<Ended & { readonly wasValid: boolean }>;
let isValid: boolean;
/** The time that the write of a fence takes. */
let sealMs: number;
let timing: { drainTimeoutMs: number; leaseDurationMs: number; stallTimeoutMs?: number };
let lost: AbortController;
let session: HeldLeadership;
let holds: Holds;

beforeEach(() => {
  clock = new VirtualClock();
  running = new Map();
  ended = [];
  isValid = true;
  sealMs = 0;
  lost = new AbortController();
  session = sessionOf("aaaaaaaa", 7);
  timing = { drainTimeoutMs: DRAIN_MS, leaseDurationMs: LEASE_MS };
  holds = new Holds({
    clock,
    names: new FleetNames("f"),
    memberId: "m",
    timing: timing as TimingReport,
    seal: () => (sealMs === 0 ? Promise.resolve() : sleep(clock, sealMs)),
    task: (shard) =>
      new Promise<void>((resolve, reject) => {
        const { name } = shard;
        if (running.has(name)) throw new Error(`two tasks of ${name}`);
        const settle = (error?: Error): void => {
          running.delete(name);
          if (error) reject(error);
          else resolve();
        };
        running.set(name, { shard, settle });
      }),
    reporter: { emit: noteEnd } as unknown as FleetReporter,
    onLeft: () => undefined,
  });
  holds.begin(session);
});

function noteEnd(event: string, { shard }: { readonly shard: Shard }): void {
  if (event !== "shardStopped" && event !== "shardFailed") return;
  const end = holds.ended.find((one) => one.shard === shard.name && one.since === shard.term);
  if (end) ended.push({ ...end, wasValid: shard.isValid() });
}

function sessionOf(id: string, term: number): HeldLeadership {
  const held = {
    term,
    candidateId: `m#${id}`,
    termId: id,
    signal: lost.signal,
    isValid: () => isValid,
    remainingMs: () => 1,
    assertValid: () => undefined,
  };
  return held as unknown as HeldLeadership;
}

function plan(revision: number, grants: Record<string, number | { since: number; leaving: boolean }>, change: object = {}): Plan {
  const shards = Object.entries(grants).map(([name, grant]): [string, Entry] => [
    name,
    { slot: SLOT, leaving: false, fails: 0, ...(typeof grant === "number" ? { since: grant } : grant) },
  ]);
  const member = { term: 7, id: "aaaaaaaa", asked: revision, ...change };
  return { revision, leaseMs: LEASE_MS, fenced: false, members: new Map([[SLOT, member]]), shards: new Map(shards) };
}

async function apply(next: Plan): Promise<string[]> {
  holds.apply(next, SLOT, session, false);
  await clock.settle();
  return [...running.keys()];
}

test("starts the shards that the plan grants to this very session", async () => {
  expect(await apply(plan(5, { a: 5, b: 4 }))).toEqual(["a", "b"]);
  expect(running.get("a")?.shard).toMatchObject({ name: "a", term: 5, candidateId: "m" });
});

test.for([
  { title: "an earlier session of the slot, by its term", change: { term: 6 } },
  { title: "a later session of the slot", change: { term: 8 } },
  { title: "another session of the same term, by its id", change: { id: "bbbbbbbb" } },
])("starts nothing that the plan grants to $title", async ({ change }) => {
  expect(await apply(plan(5, { a: 5 }, change))).toEqual([]);
});

test("a plan that is not newer than the last one counts for nothing", async () => {
  await apply(plan(5, {}));
  expect(await apply(plan(5, { a: 5 }))).toEqual([]);
  expect(await apply(plan(4, { a: 4 }))).toEqual([]);
  expect(holds.applied).toBe(5);
});

test("starts nothing on a session that is not valid by the clocks, and notes no plan as carried out", async () => {
  isValid = false;
  expect(await apply(plan(5, { a: 5 }))).toEqual([]);
  expect(holds.applied).toBe(0);
});

test("a shard that is granted while it starts is not begun if the session ends in between", async () => {
  holds.apply(plan(5, { a: 5 }), SLOT, session, false);
  isValid = false;
  await clock.settle();
  expect([...running.keys()]).toEqual([]);
});

test("a shard that has to stop while its fence is written begins no task", async () => {
  sealMs = 100;
  await apply(plan(5, { a: 5 }));
  await apply(plan(6, { a: { since: 5, leaving: true } }));
  await clock.advance(200);
  expect([...running.keys()]).toEqual([]);
  expect(ended).toEqual([{ shard: "a", since: 5, how: "left", wasValid: false }]);
});

test("a shard that leaves drains, and is told as draining until its task has settled", async () => {
  await apply(plan(5, { a: 5 }));
  await apply(plan(6, { a: { since: 5, leaving: true } }));
  expect(running.get("a")?.shard.signal.aborted).toBe(true);
  expect(holds.draining(false)).toEqual(new Set(["a"]));
  running.get("a")?.settle();
  await clock.settle();
  expect(holds.draining(false)).toEqual(new Set());
  expect(ended).toEqual([{ shard: "a", since: 5, how: "left", wasValid: false }]);
});

test("the end of one term does not keep the next one from starting", async () => {
  await apply(plan(5, { a: 5 }));
  running.get("a")?.settle(new Error("failed"));
  await clock.settle();
  expect(await apply(plan(6, { a: 5 }))).toEqual([]);
  expect(holds.ended).toEqual([{ shard: "a", since: 5, how: "failed" }]);
  expect(await apply(plan(7, { a: 7 }))).toEqual(["a"]);
  expect(holds.ended).toEqual([]);
});

test("a shard is over before it is told that it has ended, and never valid again", async () => {
  await apply(plan(5, { a: 5, b: 5 }));
  const { shard, settle } = running.get("a")!;
  settle();
  await clock.settle();
  expect(ended).toEqual([{ shard: "a", since: 5, how: "returned", wasValid: false }]);
  expect(shard.isValid()).toBe(false);
  expect(shard.remainingMs()).toBe(0);
  expect(() => shard.assertValid()).toThrow("has ended");
  expect(running.get("b")?.shard.isValid()).toBe(true);
});

test("a task that outlasts its drain: its shard is over, is let go one lease later, and does not start beside it", async () => {
  await apply(plan(5, { a: 5 }));
  const { shard, settle } = running.get("a")!;
  await apply(plan(6, { a: { since: 5, leaving: true } }));
  await clock.advance(DRAIN_MS - 1);
  expect(shard.isValid()).toBe(true);
  await clock.advance(2);
  expect(shard.isValid()).toBe(false);
  expect(holds.draining(false)).toEqual(new Set(["a"]));
  await clock.advance(LEASE_MS);
  expect(ended).toEqual([{ shard: "a", since: 5, how: "failed", wasValid: false }]);
  await apply(plan(7, { a: 7 }));
  await clock.settle();
  expect(holds.ended).toEqual([{ shard: "a", since: 7, how: "failed" }]);
  // No task of the later term has begun.
  expect(ended).toHaveLength(1);
  settle();
  await clock.settle();
  expect(await apply(plan(8, { a: 8 }))).toEqual(["a"]);
});

test("a task that does not check in fails", async () => {
  timing.stallTimeoutMs = 1_000;
  await apply(plan(5, { quiet: 5 }));
  const { shard, settle } = running.get("quiet")!;
  await clock.advance(900);
  shard.checkpoint();
  await clock.advance(900);
  expect(shard.signal.aborted).toBe(false);
  await clock.advance(200);
  expect(shard.signal.aborted).toBe(true);
  settle();
  await clock.settle();
  expect(ended).toMatchObject([{ shard: "quiet", how: "failed" }]);
});

test("the time that a shard waits for its fence does not count as a stall", async () => {
  sealMs = 5_000;
  timing.stallTimeoutMs = 1_000;
  await apply(plan(5, { quiet: 5 }));
  await clock.advance(5_500);
  expect(running.get("quiet")?.shard.signal.aborted).toBe(false);
  await clock.advance(600);
  expect(running.get("quiet")?.shard.signal.aborted).toBe(true);
});

test("a task that fails after a minute of work is told so", async () => {
  await apply(plan(5, { a: 5 }));
  await clock.advance(60_000);
  running.get("a")?.settle(new Error("late"));
  await clock.settle();
  expect(ended).toMatchObject([{ how: "failed-late" }]);
});

test("the end of the session aborts every shard", async () => {
  await apply(plan(5, { a: 5, b: 5 }));
  lost.abort(new Error("lost"));
  expect([...running.values()].map(({ shard }) => shard.signal.aborted)).toEqual([true, true]);
});

test("a member that stops starts nothing, and tells all of its shards as draining", async () => {
  await apply(plan(5, { a: 5 }));
  holds.apply(plan(6, { a: 5, b: 6 }), SLOT, session, true);
  await clock.settle();
  expect([...running.keys()]).toEqual(["a"]);
  expect(holds.draining(true)).toEqual(new Set(["a"]));
});
