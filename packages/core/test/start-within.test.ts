import { oncePerOccurrence, type ClaimedLeadership, type OncePerOccurrenceOptions } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { VirtualClock, type SimulatedRecordService } from "@leasehold/core/testing";
import { beforeEach, expect, test } from "vitest";
import { Host, occurrenceService } from "./host.ts";
import { Lines } from "./lines.ts";

const MISSED = { ran: false, reason: "missed" };
const DONE = { ran: false, reason: "done" };
const LEASE_MS = 15_000;
const WITHIN_MS = 60_000;

let world: VirtualClock;
let service: SimulatedRecordService;
let a: Host;
let b: Host;
let due: number;

beforeEach(() => {
  world = new VirtualClock();
  service = occurrenceService(world);
  a = new Host(world, service);
  b = new Host(world, service);
  due = world.wallMs();
});

type Task<T> = (leadership: ClaimedLeadership) => T | Promise<T>;

function deliver<T>(host: Host, task: Task<T>, options: Partial<OncePerOccurrenceOptions> = {}) {
  const all = {
    store: host.store,
    name: "nightly",
    scheduledAt: due,
    startWithinMs: WITHIN_MS,
    logger: false,
    ...options,
  } as const;
  return oncePerOccurrence<T>(all, task);
}

test("an occurrence begins until startWithinMs is over, at three requests", async () => {
  // A request takes 2 ms.
  await world.advance(WITHIN_MS - 4);

  await expect(world.runUntil(deliver(a, () => "billed"))).resolves.toMatchObject({ ran: true, attempt: 1 });
  expect(a.requests).toEqual(["get", "put", "put"]);
});

test("an occurrence that would begin later is missed, and is never claimed", async () => {
  await world.advance(WITHIN_MS + 1);
  const logger = new Lines();

  await expect(world.runUntil(deliver(a, () => "billed", { logger }))).resolves.toEqual(MISSED);
  expect(a.requests).toEqual(["get"]);
  expect(logger.of("warn")).toEqual([
    "'nightly@2026-01-01T00:00:00.000Z' is missed: no host had begun it within 60000 ms (startWithinMs).",
  ]);
});

test("a late delivery of an occurrence that is done, or in progress, says so", async () => {
  const working = deliver(a, () => sleep(a.clock, 2 * WITHIN_MS));
  await world.advance(WITHIN_MS + 1);

  await expect(world.runUntil(deliver(b, () => "twin"))).resolves.toEqual({ ran: false, reason: "in-progress" });
  await expect(world.runUntil(deliver(b, () => "twin", { whenInProgress: "wait" }))).resolves.toEqual(DONE);
  await expect(world.runUntil(deliver(b, () => "twin"))).resolves.toEqual(DONE);
  await working;
});

test("a host that waits takes over from a dead one in time, and misses the occurrence after that", async () => {
  for (const [startWithinMs, expected] of [
    [3 * LEASE_MS, { ran: true, result: "billed", attempt: 2 }],
    [LEASE_MS / 2, MISSED],
  ] as const) {
    due = world.wallMs();
    const dying = new Host(world, service);
    void deliver(dying, () => new Promise(() => undefined), { startWithinMs });
    await world.advance(1_000);
    dying.clock.kill();

    const second = deliver(b, () => "billed", { startWithinMs, whenInProgress: "wait" });
    await expect(world.runUntil(second)).resolves.toEqual(expected);
  }
});

test("a task does not begin late if the claim took too long", async () => {
  await world.advance(WITHIN_MS - 10);
  const prompt = a.network;
  let began = false;
  a.network = (request) => {
    const passage = prompt(request);
    return { ...passage, arrivals: passage.arrivals.map((arrival) => ({ ...arrival, afterMs: 50 })) };
  };

  await expect(world.runUntil(deliver(a, () => (began = true)))).resolves.toEqual(MISSED);
  expect(began).toBe(false);
  await expect(world.runUntil(deliver(b, () => "billed", { startWithinMs: 2 * WITHIN_MS }))).resolves.toMatchObject({
    ran: true,
  });
});

test.each([
  [{ startWithinMs: 0 }, /^startWithinMs is 0 ms; it must be from 1/],
  [{ startWithinMs: "60000" }, /^startWithinMs must be a number; it is the text/],
  [{ startWithinMs: 1_000, scheduledAt: undefined, key: "k" }, /^startWithinMs is for occurrences of a schedule/],
])("%j is refused before any request", async (options, message) => {
  await expect(deliver(a, () => 0, options as Partial<OncePerOccurrenceOptions>)).rejects.toThrow(message);
  expect(a.requests).toEqual([]);
});
