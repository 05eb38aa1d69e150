import { oncePerOccurrence, type ClaimedLeadership, type OncePerOccurrenceOptions } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { fakeLeadership, VirtualClock, type SimulatedRecordService } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { pauseAlive, runWithTries } from "../src/occurrences/tries.ts";
import { Host, occurrenceService } from "./host.ts";

const DONE = { ran: false, reason: "done" };
const LEASE_MS = 15_000;
const HOUR_MS = 3_600_000;

let world: VirtualClock;
let service: SimulatedRecordService;
let a: Host;
let b: Host;
let due: number;

beforeEach(() => {
  world = new VirtualClock();
  service = occurrenceService(world);
  [a, b] = [new Host(world, service), new Host(world, service)];
  due = world.wallMs();
});

type Task<T> = (leadership: ClaimedLeadership) => T | Promise<T>;

function deliver<T>(host: Host, task: Task<T>, more: Partial<OncePerOccurrenceOptions> = {}) {
  const options = { store: host.store, name: "nightly", scheduledAt: due, tries: 3, logger: false, ...more } as const;
  return oncePerOccurrence<T>(options, task);
}

describe("tries", () => {
  test("repeats a task that throws after a wait that doubles, and keeps its claim meanwhile", async () => {
    const beganMs: number[] = [];
    const first = deliver(
      a,
      () => {
        beganMs.push(world.monotonicMs());
        if (beganMs.length < 3) throw new Error("disk full");
        return "billed";
      },
      { backoffMs: 20_000, stallTimeoutMs: 2_000 },
    );
    await world.advance(1_000);

    await expect(world.runUntil(deliver(b, () => "twin", { whenInProgress: "wait" }))).resolves.toEqual(DONE);
    await expect(first).resolves.toEqual({ ran: true, result: "billed", attempt: 1 });
    const [one = 0, two = 0, three = 0] = beganMs;
    expect([two - one, three - two].map(Math.round)).toEqual([20_000, 40_000]);
    expect(world.pendingTimers).toBe(0);
  });

  test("records an occurrence as failed after the last try, so that no host tries it again", async () => {
    let count = 0;
    const failing = deliver(a, () => {
      count += 1;
      throw new Error(`disk full ${count}`);
    });
    await expect(world.runUntil(failing)).rejects.toThrow("disk full 3");

    const failed = { ran: false, reason: "failed", failure: "Error" };
    await expect(world.runUntil(deliver(b, () => "again"))).resolves.toEqual(failed);
    expect(a.requests).toEqual(["get", "put", "put"]);
  });

  test("counts a claimant that died as a try", async () => {
    void deliver(a, () => new Promise(() => undefined));
    await world.advance(1_000);
    a.clock.kill();
    await world.advance(2 * LEASE_MS);
    let count = 0;
    const second = deliver(b, () => {
      count += 1;
      throw new Error("disk full");
    });

    await expect(world.runUntil(second)).rejects.toThrow("disk full");
    expect(count).toBe(2);
  });

  test("tries twice at least, because earlier claims may have ended before their task began", async () => {
    const overlap = "bufferOne";
    const first = deliver(a, () => sleep(a.clock, 60_000), { overlap });
    await world.advance(1_000);
    const next = { store: b.store, name: "nightly", scheduledAt: due + 1_000, overlap, tries: 3, logger: false } as const;
    let count = 0;
    const fail = (): never => {
      count += 1;
      throw new Error("disk full");
    };
    for (let deploys = 0; deploys < 4; deploys += 1) {
      const stop = new AbortController();
      const stopped = oncePerOccurrence<void>(next, fail, { signal: stop.signal });
      await world.advance(2_000);
      stop.abort(new Error("SIGTERM"));
      await expect(world.runUntil(stopped)).rejects.toThrow("SIGTERM");
    }
    await world.runUntil(first);

    await expect(world.runUntil(oncePerOccurrence<void>(next, fail))).rejects.toThrow("disk full");
    expect(count).toBe(2);
    await expect(world.runUntil(oncePerOccurrence<void>(next, fail))).resolves.toMatchObject({ reason: "failed" });
  });

  test("leaves the occurrence open if the signal aborts, also during the wait", async () => {
    const throws = (): never => {
      throw new Error("disk full");
    };
    const works = ({ signal }: ClaimedLeadership): Promise<void> => sleep(a.clock, 60_000, signal);
    // The second call is attempt 2, and would be the last try.
    for (const [tries, task] of [
      [9, throws],
      [2, works],
    ] as const) {
      const stop = new AbortController();
      const options = { store: a.store, name: "nightly", scheduledAt: due, tries, backoffMs: 60_000, logger: false } as const;
      const stopped = oncePerOccurrence<void>(options, task, { signal: stop.signal });
      await world.advance(5_000);
      stop.abort(new Error("SIGTERM"));
      await expect(world.runUntil(stopped)).rejects.toThrow("SIGTERM");
    }

    await expect(world.runUntil(deliver(b, () => "billed"))).resolves.toMatchObject({ ran: true, attempt: 3 });
  });

  test("pauses the schedule after a failure with pauseOnFailure, until it is resumed", async () => {
    const options = { tries: 1, overlap: "skip", pauseOnFailure: true } as const;
    const failing = deliver(a, () => Promise.reject(new Error("password=hunter2")), options);
    await expect(world.runUntil(failing)).rejects.toThrow("password=hunter2");

    const next = { ...options, scheduledAt: due + 1_000 };
    await expect(world.runUntil(deliver(b, () => "next", next))).resolves.toEqual({ ran: false, reason: "paused" });
    const { bar } = (await world.runUntil(b.store.read("nightly"))) ?? {};
    expect(bar).toMatchObject({
      kind: "pause",
      reason: expect.stringMatching(/^'nightly@2026-01-01T00:00:00.000Z' failed/) as unknown,
    });
    expect(JSON.stringify(bar)).not.toContain("hunter2");
    await world.runUntil(b.store.resume("nightly"));
    await expect(world.runUntil(deliver(b, () => "billed", { ...options, scheduledAt: due + 2_000 }))).resolves.toMatchObject({
      ran: true,
    });
  });

  test.each([
    [{ tries: 0 }, /^tries is 0; it must be a whole number from 1 to 100/],
    [{ tries: 101 }, /^tries is 101/],
    [{ tries: 1.5 }, /^tries is 1.5/],
    [{ backoffMs: 0 }, /^backoffMs is 0 ms; it must be from 1/],
    [{ tries: undefined, backoffMs: 5 }, /^backoffMs is given without tries/],
    [{ tries: undefined, pauseOnFailure: true, overlap: "skip" }, /^pauseOnFailure is given without tries/],
    [{ pauseOnFailure: true }, /^pauseOnFailure needs an overlap policy/],
  ])("%j is refused before any request", async (options, message) => {
    await expect(deliver(a, () => 0, options as Partial<OncePerOccurrenceOptions>)).rejects.toThrow(message);
    expect(a.requests).toEqual([]);
  });

  test.each([1, 100])("may be %d", async (tries) => {
    await expect(world.runUntil(deliver(a, () => "billed", { tries }))).resolves.toMatchObject({ ran: true });
  });

  test.each([
    [undefined, [1_000, 2_000]],
    [3_000_000, [3_000_000, 3_600_000]],
  ])("wait a second at first by default, and an hour at most: %d", async (backoffMs, waitsMs) => {
    const triedMs: number[] = [];
    const fails = (): never => {
      triedMs.push(world.monotonicMs());
      throw new Error("disk full");
    };

    await world.runUntil(runWithTries({ tries: 3, backoffMs }, world, fakeLeadership(), fails), 10 * HOUR_MS);
    expect(waitsMs).toEqual([triedMs[1]! - triedMs[0]!, triedMs[2]! - triedMs[1]!]);
  });

  test.each([
    [1, 2],
    [500, 2],
    [501, 3],
    [1_000, 3],
  ])("a wait of %d ms lasts exactly that long, and calls checkpoint %d times", async (waitMs, times) => {
    const fromMs = world.monotonicMs();
    let checkpoints = 0;
    const checkpoint = (): void => void (checkpoints += 1);

    await world.runUntil(pauseAlive(world, waitMs, { signal: new AbortController().signal, checkpoint }));
    expect([world.monotonicMs() - fromMs, checkpoints]).toEqual([waitMs, times]);
  });
});
