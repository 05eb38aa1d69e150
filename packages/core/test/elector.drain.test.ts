import { DrainTimeoutError } from "@leasehold/core/provider";
import { ProcessClock } from "@leasehold/core/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ELECTION, LEASE_MS, RENEW_INTERVAL_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, VALID_FOR_MS, type Candidate, type CandidateOptions, type Run } from "./election-world.ts";
import type { Fault } from "./faulty-record-store.ts";
import { StubbornTask } from "@leasehold/test-kit/leader-tasks";

let world: ElectionWorld;
let a: Candidate;
let task: StubbornTask;
let run: Run;

beforeEach(() => {
  world = new ElectionWorld();
  task = new StubbornTask();
});
afterEach(() => void vi.restoreAllMocks());

/** Makes a candidate lead for a second. */
async function lead(options: CandidateOptions = {}): Promise<void> {
  a = world.candidate("a", options);
  run = a.run(task.run);
  await world.clock.advance(1_000);
  if (!a.elector.isLeader) throw new Error("The candidate does not lead.");
}

/** Lets the task settle, and waits until everything has stopped. */
async function end(): Promise<void> {
  task.settle();
  await world.clock.advance(LEASE_MS);
  run.stop();
  task.settle();
  await run.settled.catch(() => undefined);
}

function released(): boolean {
  return world.service.record(ELECTION)!.termId === null;
}

describe("work is awaited", () => {
  test("a stopping leader renews while its task drains, releases when it has settled, and resolves only then", async () => {
    await lead();
    let stopped = false;
    void run.settled.then(() => (stopped = true));
    run.stop();
    const renewals = world.service.count("a", "put");

    await world.clock.advance(LEASE_MS - 1);
    expect([stopped, released(), task.leadership.isValid()]).toEqual([false, false, true]);
    expect(world.service.count("a", "put") - renewals).toBe(3);

    task.settle();
    await run.settled;
    expect(released()).toBe(true);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("is no overrun where the task's own timer was due first, and the process was frozen past both", async () => {
    const process = new ProcessClock(world.clock);
    await lead({ clock: process, drainTimeoutMs: 1_500 });
    const overrun = vi.fn<() => void>();
    a.elector.on("overrun", overrun);
    run.stop();
    process.setTimer(() => task.settle(), 1_200);
    await world.clock.advance(100);
    process.pause();
    await world.clock.advance(1_600);
    process.resume();
    await world.clock.advance(1_000);

    expect([overrun.mock.calls.length, released()]).toEqual([0, true]);
  });

  test("at drainTimeoutMs: no more renewals, no release, an overrun is reported, and run rejects", async () => {
    await lead({ drainTimeoutMs: 7_000 });
    run.stop();
    await world.clock.advance(7_000);
    const sent = world.service.log.length;

    const error: unknown = await run.settled.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DrainTimeoutError);
    expect(error).toMatchObject({ code: "DRAIN_TIMEOUT", election: ELECTION, term: 1 });
    expect(String(error)).toContain("still pending 7000 ms after its signal aborted");
    expect(a.events.all("overrun")).toEqual([{ election: ELECTION, term: 1, sinceSignalMs: 7_000 }]);

    await world.clock.advance(10 * LEASE_MS);
    expect(world.service.log).toHaveLength(sent);
    expect(released()).toBe(false);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("nothing that the task does after its overrun renews the lease", async () => {
    await lead({ drainTimeoutMs: 3_000 });
    run.stop();
    await world.clock.advance(3_000);
    const { nonce } = world.service.record(ELECTION)!;

    await task.leadership.publish("still here").catch(() => undefined);

    expect(world.service.record(ELECTION)!.nonce).toBe(nonce);
    await end();
  });

  test("the elector stays busy until the task has settled, though run has rejected", async () => {
    await lead({ drainTimeoutMs: 3_000 });
    run.stop();
    await expect(world.clock.runUntil(run.settled)).rejects.toBeInstanceOf(DrainTimeoutError);
    await expect(a.elector.run(() => undefined)).rejects.toMatchObject({ code: "ELECTOR_BUSY" });

    task.settle();
    await world.clock.settle();

    expect(await a.elector.tryRun(() => "second")).toMatchObject({ elected: true, result: "second" });
  });

  test("a task that rejects after run rejected causes no unhandled rejection", async () => {
    await lead({ drainTimeoutMs: 3_000 });
    const unhandled = vi.fn<(reason: unknown) => void>();
    process.on("unhandledRejection", unhandled);
    run.stop();
    await world.clock.advance(4_000);

    task.fail(new Error("too late"));
    await world.clock.advance(1_000);

    expect(unhandled).not.toHaveBeenCalled();
    process.off("unhandledRejection", unhandled);
  });

  test("a resigning leader whose task overruns waits: it neither releases nor campaigns", async () => {
    await lead({ drainTimeoutMs: 3_000 });
    let resigned = false;
    const resigning = a.elector.resign().then(() => (resigned = true));
    await world.clock.advance(3_000);
    expect(a.events.all("overrun")).toMatchObject([{ sinceSignalMs: 3_000 }]);
    const sent = world.service.log.length;

    await world.clock.advance(10 * LEASE_MS);
    expect([resigned, task.leaderships.length, world.service.log.length]).toEqual([false, 1, sent]);

    task.settle();
    await resigning;
    await world.clock.advance(LEASE_MS);
    expect(task.leaderships).toHaveLength(2);
    await end();
  });

  test("a task that is still pending well after its lease was lost is an overrun, too, and only one", async () => {
    await lead();
    world.service.remove(ELECTION);
    await world.clock.advance(RENEW_INTERVAL_MS);
    expect(task.leadership.isValid()).toBe(false);

    await world.clock.advance(10 * LEASE_MS);

    expect(a.events.all("overrun")).toMatchObject([{ term: 1, sinceSignalMs: LEASE_MS / 20 }]);
    expect(task.leaderships).toHaveLength(1);
    await end();
  });

  test.each([
    ["taken away", () => world.service.remove(ELECTION), RENEW_INTERVAL_MS],
    ["run out", () => a.records.failAll({ kind: "lost" }), VALID_FOR_MS],
  ] as const)(
    "a task whose lease is %s while it drains has half of the margin left, not all of its drain",
    async (_, lose, overMs) => {
      const exit = vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
      vi.spyOn(process.stderr, "write").mockReturnValue(true);
      await lead({ drainTimeoutMs: 10 * LEASE_MS, onOverrun: "exit" });
      run.stop();
      lose();
      // The lease was granted a second ago.
      await world.clock.advance(overMs - 1_000 + LEASE_MS / 20 - 1);
      expect([task.leadership.isValid(), exit.mock.calls.length]).toEqual([false, 0]);

      await world.clock.advance(1);

      expect(exit).toHaveBeenCalledExactlyOnceWith(70);
      await end();
    },
  );

  test("a leadership held by hand overruns until it is disposed of", async () => {
    const controller = new AbortController();
    const holder = world.candidate("holder", { drainTimeoutMs: 3_000 });
    const leadership = await holder.elector.campaign(controller);
    controller.abort();
    await world.clock.advance(3_000);
    const sent = world.service.log.length;

    await world.clock.advance(LEASE_MS);
    expect(holder.events.all("overrun")).toHaveLength(1);
    expect(world.service.log).toHaveLength(sent);
    expect(released()).toBe(false);

    await leadership.release();
    expect(released()).toBe(false);
  });

  test.each([
    ["says why", undefined, 1],
    ["says nothing where it is to be silent", false, 0],
  ] as const)("with onOverrun 'exit' the process ends, and %s", async (_, logger, lines) => {
    const exit = vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
    const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    await lead({ drainTimeoutMs: 3_000, onOverrun: "exit", logger });

    run.stop();
    await world.clock.advance(2_999);
    expect(exit).not.toHaveBeenCalled();
    await world.clock.advance(1);

    expect(exit).toHaveBeenCalledExactlyOnceWith(70);
    const said = written.mock.calls.map(([line]) => String(line));
    expect(said).toHaveLength(lines);
    for (const line of said) {
      expect(line).toContain("the task leading 'nightly-billing' (term 1) is still pending 3000 ms after its signal aborted");
    }
    await end();
  });
});

describe("the release", () => {
  test("has a time limit of its own, though the caller's signal has aborted", async () => {
    await lead();
    a.records.latencyMs = 1_500;

    run.stop();
    task.settle();
    await world.clock.runUntil(run.settled);

    expect(released()).toBe(true);
  });

  test("is sent once more if its request was lost", async () => {
    await lead();
    a.records.failNext("put", { kind: "lost" });

    run.stop();
    task.settle();
    await world.clock.runUntil(run.settled);

    expect(world.service.record(ELECTION)).toMatchObject({ termId: null });
    expect(a.events.all("releaseFailed")).toEqual([]);
  });

  test("that hangs is given up after the second try and reported, and does not delay the stop further", async () => {
    await lead();
    a.records.failAll({ kind: "lost" });
    const startMs = world.clock.monotonicMs();

    run.stop();
    task.settle();
    await world.clock.runUntil(run.settled);

    expect(world.clock.monotonicMs() - startMs).toBeLessThanOrEqual(5_100);
    expect(a.events.all("releaseFailed")).toMatchObject([{ election: ELECTION, term: 1, error: { code: "STORE_TIMEOUT" } }]);
  });

  test.each<[Fault, waitMs: number]>([
    [{ kind: "unavailable" }, 100],
    [{ kind: "throttled", retryAfterMs: 700 }, 700],
    [{ kind: "throttled", retryAfterMs: 60_000 }, 1_000],
  ])("that fails (%o) is sent again after %d ms: as long as the service asks, within reason", async (fault, waitMs) => {
    await lead();
    a.records.failNext("put", fault);
    const before = world.service.log.length;

    run.stop();
    task.settle();
    await world.clock.runUntil(run.settled);

    const [first = 0, second = 0, ...others] = world.service.log.slice(before).map(({ sentMs }) => sentMs);
    expect([second - first, others.length, released()]).toEqual([waitMs, 0, true]);
  });

  test("waits for a renewal that is under way, so that this one cannot bring the lease back", async () => {
    await lead();
    await world.clock.advance(3_999);
    a.records.failNext("put", { kind: "late", byMs: 20_000 });
    await world.clock.advance(1);

    run.stop();
    task.settle();
    await world.clock.runUntil(run.settled);
    expect(released()).toBe(true);

    await world.clock.advance(60_000);
    expect(released()).toBe(true);
  });

  test("is sent only after the reply to a renewal under way has arrived", async () => {
    await lead();
    await world.clock.advance(RENEW_INTERVAL_MS - 1_001);
    a.records.failNext("put", { kind: "slow", latencyMs: 1_500 });
    await world.clock.advance(1);
    const renewalSentMs = world.clock.monotonicMs();

    run.stop();
    task.settle();
    await world.clock.runUntil(run.settled);

    const sentMs = world.service.log.slice(-2).map((request) => request.sentMs - renewalSentMs);
    expect(sentMs).toEqual([0, 1_500]);
    expect(released()).toBe(true);
  });

  test("is reported in the event of the term's end, and so is its absence", async () => {
    const told = async (befall: () => void, options: CandidateOptions = {}): Promise<boolean | undefined> => {
      world = new ElectionWorld();
      task = new StubbornTask();
      await lead(options);
      befall();
      run.stop();
      await world.clock.advance(VALID_FOR_MS);
      task.settle();
      await world.clock.advance(LEASE_MS);
      await run.settled.catch(() => undefined);
      return a.events.all("stoppedLeading")[0]?.released;
    };

    expect(await told(() => undefined)).toBe(true);
    expect(await told(() => undefined, { releaseOnStop: false })).toBe(false);
    expect(await told(() => undefined, { drainTimeoutMs: 1_000 })).toBe(false);
    expect(await told(() => a.records.failAll({ kind: "unavailable" }))).toBe(false);
    expect(await told(() => world.service.remove(ELECTION))).toBe(false);
  });

  test("makes isLeader false before the request is even sent: from then on a rival may lead", async () => {
    await lead();
    a.records.latencyMs = 1_000;
    run.stop();
    task.settle();
    await world.clock.advance(0);

    expect(released()).toBe(false);
    expect(a.elector.isLeader).toBe(false);
    expect(task.leadership.isValid()).toBe(false);
    await world.clock.runUntil(run.settled);
  });
});
