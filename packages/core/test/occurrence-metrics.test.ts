import { lastRun, oncePerOccurrence, type OncePerOccurrenceOptions } from "@leasehold/core";
import { electionMetrics, OCCURRENCE_CHANNEL, type PublishedOccurrence } from "@leasehold/core/diagnostics";
import { sleep } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Host, occurrenceService } from "./host.ts";

let world: VirtualClock;
let a: Host;
let b: Host;
let due: number;
/** The outcome, the attempt and the lateness of each occurrence, in whole milliseconds. */
let ended: unknown[];
let measurement: ReturnType<typeof electionMetrics>;

beforeEach(() => {
  world = new VirtualClock();
  const service = occurrenceService(world);
  [a, b] = [new Host(world, service), new Host(world, service)];
  due = world.wallMs();
  ended = [];
  const unused = (): void => {};
  measurement = electionMetrics({
    transition: unused,
    renewal: unused,
    takeover: unused,
    overrun: unused,
    request: unused,
    occurrence({ name, outcome, attempt, lateMs }: PublishedOccurrence) {
      expect(name).toBe("nightly");
      ended.push([outcome, attempt, lateMs === undefined ? undefined : Math.round(lateMs)]);
    },
  });
});
afterEach(() => measurement.stop());

function deliver<T>(host: Host, task: () => T | Promise<T>, more: Partial<OncePerOccurrenceOptions> = {}) {
  const options = { store: host.store, name: "nightly", scheduledAt: due, logger: false, ...more } as const;
  return oncePerOccurrence<T>(options, task);
}

const fail = (): never => {
  throw new Error("disk full");
};

describe("the metrics of occurrences", () => {
  test("count one that is done once, with the time after it was due, however many hosts find it done", async () => {
    await world.advance(5_000);
    await world.runUntil(deliver(a, () => "billed"));
    await world.runUntil(deliver(b, () => "again"));
    expect(ended).toEqual([["done", 1, 5_004]]);
  });

  test("count each claim that left it open, and the one whose last try failed", async () => {
    await expect(world.runUntil(deliver(a, fail))).rejects.toThrow("disk full");
    await expect(world.runUntil(deliver(b, fail, { tries: 2, backoffMs: 1_000 }))).rejects.toThrow("disk full");
    expect(ended).toEqual([
      ["open", 1, 4],
      ["failed", 2, expect.any(Number)],
    ]);
  });

  test("count one that was missed, by the host that came too late and claimed nothing", async () => {
    await world.advance(5_000);
    await world.runUntil(deliver(a, () => "late", { startWithinMs: 1_000 }));
    expect(ended).toEqual([["missed", undefined, undefined]]);
  });

  test("count one that was skipped because an earlier one still ran", async () => {
    const first = deliver(a, () => sleep(a.clock, 10_000), { overlap: "skip" });
    await world.advance(1_000);
    await world.runUntil(deliver(b, () => "second", { overlap: "skip", scheduledAt: due + 1_000 }));
    await world.runUntil(first);
    expect(ended).toEqual([
      ["overlap", 1, undefined],
      ["done", 1, expect.any(Number)],
    ]);
  });

  test("have no lateness for work with a key, which is due at no time", async () => {
    const keyed = { store: a.store, name: "nightly", key: "4f2c9aa", logger: false } as const;
    await world.runUntil(oncePerOccurrence(keyed, () => "migrated"));
    expect(ended).toEqual([["done", 1, undefined]]);
  });

  test("come from a channel that also names the occurrence", async () => {
    const heard: unknown[] = [];
    const onMessage = (message: unknown): void => void heard.push(message);
    subscribe(OCCURRENCE_CHANNEL, onMessage);
    await world.runUntil(deliver(a, () => "billed"));
    unsubscribe(OCCURRENCE_CHANNEL, onMessage);
    const occurrence = "nightly@2026-01-01T00:00:00.000Z";
    expect(heard).toEqual([{ name: "nightly", occurrence, outcome: "done", attempt: 1, lateMs: expect.any(Number) }]);
  });
});

describe("noteLastRun", () => {
  const noted = (): Promise<unknown> => world.runUntil(lastRun(b.store, "nightly"));

  test("notes which occurrence was done, at the cost of two requests", async () => {
    await world.runUntil(deliver(a, () => "billed", { noteLastRun: true }));
    expect(a.requests).toEqual(["get", "put", "put", "get", "put"]);
    const occurrence = "nightly@2026-01-01T00:00:00.000Z";
    await expect(noted()).resolves.toMatchObject({ occurrence, scheduledMs: due, attempt: 1 });
  });

  test("notes neither an occurrence that failed nor one that is older", async () => {
    await world.runUntil(deliver(a, () => "billed", { noteLastRun: true }));
    await world.advance(60_000);
    const failing = deliver(a, fail, { noteLastRun: true, scheduledAt: due + 60_000, tries: 1 });
    await expect(world.runUntil(failing)).rejects.toThrow("disk full");
    await world.runUntil(deliver(a, () => "older", { noteLastRun: true, scheduledAt: due - 60_000 }));
    await expect(noted()).resolves.toMatchObject({ scheduledMs: due });
  });

  test("is refused for work with a key, and for a value that is no boolean, before any request", async () => {
    const keyed = { store: a.store, name: "nightly", key: "k", noteLastRun: true } as never;
    await expect(oncePerOccurrence(keyed, () => 0)).rejects.toThrow("noteLastRun is for occurrences of a schedule");
    await expect(deliver(a, () => 0, { noteLastRun: 1 as never })).rejects.toThrow("noteLastRun must be true or false");
    expect(a.requests).toEqual([]);
  });
});
