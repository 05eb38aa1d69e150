import {
  ConfigurationError,
  Elector,
  MemoryLeaseStore,
  Observer,
  pinoLogger,
  StoreError,
  type Leadership,
} from "@leasehold/core";
import { ForeignRecordError, sleep } from "@leasehold/core/provider";
import type { PinoLike } from "../src/reporting/logger.ts";
import { ProcessClock, VirtualClock } from "@leasehold/core/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { StubbornTask, untilAborted } from "@leasehold/test-kit/leader-tasks";
import { ElectionWorld, RETRY_PERIOD_MS, type Candidate } from "./election-world.ts";
import { Lines } from "./lines.ts";
import { EVENT_LINES } from "../src/election/event-lines.ts";

let world: ElectionWorld;
let lines: Lines;
let warnings: Array<{ readonly code: string; readonly message: string }>;
const onWarning = (warning: Error): void => {
  if (warning.name === "LeaseholdWarning")
    warnings.push({ code: (warning as Error & { code: string }).code, message: warning.message });
};

beforeEach(() => {
  world = new ElectionWorld();
  lines = new Lines();
  warnings = [];
  process.on("warning", onWarning);
});
afterEach(() => {
  process.off("warning", onWarning);
});

/** Process warnings are emitted in a later turn. */
async function printed(): Promise<string[]> {
  await new Promise((resolve) => void setImmediate(resolve));
  return warnings.map(({ code }) => code);
}

async function outage(candidates: readonly Candidate[], forMs: number): Promise<void> {
  for (const { records } of candidates) records.failAll({ kind: "unavailable" });
  await world.clock.advance(forMs);
  for (const { records } of candidates) records.heal();
  await world.clock.advance(LEASE_MS + 2 * RETRY_PERIOD_MS);
}

/** Stops an elector whose store does not answer. */
async function stopped(elector: Elector): Promise<void> {
  const stopping = elector.stop();
  await world.clock.advance(LEASE_MS);
  await stopping;
}

describe("an outage", () => {
  test("is one warning when it begins, one when it lasts, and one when it is over, however many electors share the store", async () => {
    const first = world.candidate("a", { logger: lines });
    const candidates = [
      first,
      ...[1, 2, 3, 4].map((n) => world.candidate(`a${n}`, { beside: first, logger: lines, election: `e${n}` })),
    ];
    for (const candidate of candidates) candidate.run();
    await world.clock.advance(60_000);
    lines.all.length = 0;

    await outage([first], 10 * LEASE_MS);

    const ofTheStore = lines.all.filter(({ attributes }) => "store" in attributes);
    expect(ofTheStore.map(({ level, message }) => [level, message.replace(/[\d.]+ s/, "… s")])).toEqual([
      ["warn", expect.stringMatching(/^put failed: STORE_UNAVAILABLE\. Requests are repeated/)],
      ["error", "The store still fails, for … s now. get failed: STORE_UNAVAILABLE"],
      ["info", "The faulty store answers again, after … s."],
    ]);
    for (const { elector } of candidates) await elector.stop();
  });

  test("that was not reported does not count for the next one", async () => {
    const a = world.candidate("a", { logger: lines });
    a.run();
    await world.clock.advance(60_000);
    for (const quietMs of [0, 0, 30_000]) {
      await outage([a], 6_000);
      await world.clock.advance(quietMs);
    }

    await outage([a], 6_000);

    expect(lines.of("warn").filter((line) => line.startsWith("put failed"))).toHaveLength(2);
    await a.elector.stop();
  });

  test.each(["unavailable", "denied"] as const)("is reported no further once no elector sends requests (%s)", async (kind) => {
    const a = world.candidate("a", { logger: lines });
    const quiet = world.candidate("q", { beside: a, logger: lines, election: "quiet" });
    for (const { elector } of [a, quiet]) void elector.run(untilAborted);
    await world.clock.advance(60_000);
    a.records.failAll({ kind });
    await world.clock.advance(6_000);
    for (const { elector } of [a, quiet]) await stopped(elector);
    await world.clock.advance(60_000);
    a.records.heal();
    lines.all.length = 0;

    a.run();
    await world.clock.advance(60_000);
    expect(lines.all.filter(({ attributes }) => "store" in attributes)).toEqual([]);
    a.records.failAll({ kind });
    await world.clock.advance(6_000);
    a.records.heal();
    await world.clock.advance(LEASE_MS);

    expect(lines.all.filter(({ attributes }) => "store" in attributes).map(({ level }) => level)).toEqual(["warn", "info"]);
    await a.elector.stop();
  });

  test("that soon follows another is reported only if it lasts", async () => {
    const a = world.candidate("a", { logger: lines });
    a.run();
    await world.clock.advance(60_000);
    await outage([a], 6_000);
    expect(lines.of("warn").filter((line) => line.startsWith("put failed"))).toHaveLength(1);

    await outage([a], 6_000);
    expect(lines.of("warn").filter((line) => line.startsWith("put failed"))).toHaveLength(1);

    await outage([a], 2 * LEASE_MS);
    expect(lines.of("error")).toEqual([expect.stringContaining("The store still fails")]);
    await a.elector.stop();
  });

  test("is a process warning without a logger, which listeners do not replace, and nothing with `false`", async () => {
    const a = world.candidate("a", { logger: undefined });
    const mute = world.candidate("m");
    a.run();
    mute.run();
    await world.clock.advance(60_000);
    await outage([a, mute], 2 * LEASE_MS);

    expect(await printed()).toEqual(["LEASEHOLD_STORE_FAILED", "LEASEHOLD_STORE_STILL_FAILING", "LEASEHOLD_STORE_RECOVERED"]);
    await a.elector.stop();
    await mute.elector.stop();
  });

  test("of an observer's store is reported, too", async () => {
    const a = world.candidate("a");
    const observer = new Observer({ store: a.store, election: ELECTION, logger: lines });
    const seen = observer.observe();
    a.records.failAll({ kind: "unavailable" });
    const next = seen.next();
    await world.clock.advance(30_000);
    expect(lines.warnings).toHaveLength(2);
    expect(observer.health()).toMatchObject({ lastError: { code: "STORE_UNAVAILABLE" } });

    a.records.heal();
    await world.clock.advance(RETRY_PERIOD_MS);
    await next;
    expect(observer.health()).toEqual({ lastContactAgeMs: expect.any(Number) });
    await seen.return();
  });
});

describe("what is written", () => {
  test("has a level, and attributes for machines", async () => {
    const a = world.candidate("a", { logger: lines });
    const leader = await a.elector.campaign();
    await leader.release();

    expect(lines.all.filter(({ level }) => level !== "debug")).toEqual([
      {
        level: "info",
        message: `Leading '${ELECTION}', term 1.`,
        attributes: { election: ELECTION, candidateId: "a", event: "startedLeading", term: 1 },
      },
      {
        level: "info",
        message: `Nobody leads '${ELECTION}'.`,
        attributes: { election: ELECTION, candidateId: "a", event: "newLeader" },
      },
      {
        level: "info",
        message: `Stopped leading '${ELECTION}', term 1; the lease is free.`,
        attributes: { election: ELECTION, candidateId: "a", event: "stoppedLeading", term: 1, released: true },
      },
    ]);
  });

  test("names the election even if the reason of the end is the caller's", async () => {
    const stop = new AbortController();
    const a = world.candidate("a", { logger: lines });
    const running = a.elector.run(untilAborted, { signal: stop.signal });
    await world.clock.advance(1_000);
    stop.abort(new Error("SIGTERM"));
    await running;

    expect(lines.all.find(({ attributes }) => attributes?.["event"] === "ending")).toMatchObject({
      level: "info",
      message: `Ending '${ELECTION}', term 1: SIGTERM`,
    });
  });

  test("an overrun is a process warning without a logger", async () => {
    const task = new StubbornTask();
    const a = world.candidate("a", { logger: undefined });
    const running = a.elector.run(task.run).catch(() => undefined);
    await world.clock.advance(1_000);
    const stopping = a.elector.stop().catch(() => undefined);
    await world.clock.advance(2 * LEASE_MS);

    expect(await printed()).toEqual(["LEASEHOLD_OVERRUN"]);
    task.settle();
    await Promise.all([running, stopping]);
  });

  test.each([
    ["the task looks first", (leadership: Leadership) => leadership.isValid()],
    ["the timer runs first", () => undefined],
  ])("a leadership lost because the process did not run is one warning that says for how long, if %s", async (_, look) => {
    const clock = new ProcessClock(world.clock);
    const a = world.candidate("a", { logger: undefined, clock });
    const running = a.elector.run(async (leadership) => {
      await sleep(clock, 4_500);
      look(leadership);
      await untilAborted(leadership);
    });
    await world.clock.advance(1_000);
    clock.pause();
    await world.clock.advance(2 * LEASE_MS);
    clock.resume();
    await world.clock.advance(1_000);

    expect(await printed()).toEqual(["LEASEHOLD_BLOCKED"]);
    const [, blockedMs] = /did not run for (\d+) ms or more/.exec(warnings[0]?.message ?? "") ?? [];
    expect(Number(blockedMs)).toBeGreaterThan(LEASE_MS);
    expect(Number(blockedMs)).toBeLessThanOrEqual(2 * LEASE_MS);
    void a.elector.stop();
    await world.clock.runUntil(running);
  });

  test("a record that has gone back is reported once, for any number of polls", async () => {
    const a = world.candidate("a", { logger: lines });
    const leadership = await a.elector.campaign();
    await leadership.release();
    world.service.remove(ELECTION);
    a.run();
    await world.clock.advance(60_000);

    expect(lines.of("error")).toEqual([expect.stringContaining("The store shows term 0")]);
    await a.elector.stop();
  });

  test("a listener that throws is reported, and a logger that throws is reported once", async () => {
    const clock = new VirtualClock();
    const throwing = (): never => {
      throw new Error("disk full");
    };
    const logger = { debug: throwing, info: throwing, warn: throwing, error: throwing };
    const elector = new Elector({ store: new MemoryLeaseStore({ clock }), election: ELECTION, logger });
    expect(await elector.tryRun(() => "ran")).toMatchObject({ result: "ran" });
    expect(await printed()).toEqual(["LEASEHOLD_LOGGER_FAILED"]);

    const a = world.candidate("a", { logger: undefined });
    a.elector.on("startedLeading", throwing);
    await a.elector.tryRun(() => "ran");
    expect(await printed()).toEqual(["LEASEHOLD_LOGGER_FAILED", "LEASEHOLD_LISTENER_FAILED"]);
  });

  test("a logger whose methods reject, or a thrown value that is no error, does not disturb an election", async () => {
    const clock = new VirtualClock();
    const rejecting = async (): Promise<never> => Promise.reject(new Error("disk full"));
    const logger = { debug: rejecting, info: rejecting, warn: rejecting, error: rejecting };
    const elector = new Elector({ store: new MemoryLeaseStore({ clock }), election: ELECTION, logger });
    elector.on("startedLeading", () => {
      // oxlint-disable-next-line typescript/only-throw-error -- anybody may
      throw { message: { no: "text" } };
    });
    expect(await elector.tryRun(() => "ran")).toMatchObject({ result: "ran" });
    expect(await printed()).toEqual(["LEASEHOLD_LOGGER_FAILED"]);
  });

  test("a second outage is reported with the same words again", async () => {
    const a = world.candidate("a", { logger: undefined });
    a.run();
    await world.clock.advance(60_000);
    for (let outages = 0; outages < 2; outages += 1) {
      await outage([a], 6_000);
      await world.clock.advance(120_000);
    }

    expect(await printed()).toEqual([
      "LEASEHOLD_STORE_FAILED",
      "LEASEHOLD_STORE_RECOVERED",
      "LEASEHOLD_STORE_FAILED",
      "LEASEHOLD_STORE_RECOVERED",
    ]);
    await a.elector.stop();
  });

  test("pino gets the attributes first", () => {
    const calls: unknown[][] = [];
    const level = (...given: unknown[]): void => void calls.push(given);
    const pino: PinoLike = { debug: level, info: level, warn: level, error: level };

    pinoLogger(pino).warn("message", { a: 1 });

    expect(calls).toEqual([[{ a: 1 }, "message"]]);
    expect(pinoLogger(pino)).toBe(pinoLogger(pino));
  });

  test("an error keeps its message in JSON", () => {
    const details = { store: "memory", operation: "get", election: "e", mayHaveBeenApplied: false };
    expect(JSON.parse(JSON.stringify(new StoreError("STORE_DENIED", "no rights", details)))).toMatchObject({
      name: "StoreError",
      code: "STORE_DENIED",
      message: "no rights",
      election: "e",
    });
    expect(JSON.parse(JSON.stringify({ error: new ConfigurationError("no") }))).toMatchObject({ error: { message: "no" } });
  });
});

describe("health", () => {
  test("of a leader, a standby, and one before its first call", async () => {
    const [a, b] = [world.candidate("a"), world.candidate("b")];
    expect(a.elector.health()).toEqual({ state: "stopped", leading: false, validForMs: 0 });
    a.run();
    await world.clock.advance(1_000);
    b.run();
    await world.clock.advance(1_000);

    expect(a.elector.health()).toEqual({ state: "leading", leading: true, term: 1, validForMs: 11_500, lastContactAgeMs: 2_000 });
    expect(b.elector.health()).toEqual({ state: "standby", leading: false, validForMs: 0, lastContactAgeMs: 1_000 });
    for (const { elector } of [a, b]) await elector.stop();
  });

  test("of a candidate that is cut off shows for how long, and why", async () => {
    const a = world.candidate("a");
    a.run();
    await world.clock.advance(1_000);
    a.records.failAll({ kind: "unavailable" });
    await world.clock.advance(LEASE_MS);

    expect(a.elector.health()).toMatchObject({
      state: "standby",
      leading: false,
      lastContactAgeMs: LEASE_MS + 1_000,
      lastError: { code: "STORE_UNAVAILABLE", message: "get failed: STORE_UNAVAILABLE" },
    });
    await a.elector.stop();
  });

  test("of a former leader that could not write is good again once it can write, even if another candidate leads", async () => {
    const [a, b] = [world.candidate("a", { logger: lines }), world.candidate("b")];
    a.run();
    await world.clock.advance(1_000);
    b.run();
    a.records.failAll({ kind: "denied" }, "put");
    await world.clock.advance(3 * LEASE_MS);
    expect([a, b].map(({ elector }) => elector.isLeader)).toEqual([false, true]);
    expect(a.elector.health().lastError).toMatchObject({ code: "STORE_DENIED" });

    a.records.heal();
    await world.clock.advance(2 * RETRY_PERIOD_MS);

    expect(a.elector.health().lastError).toBeUndefined();
    expect(lines.of("info")).toContainEqual(expect.stringContaining("answers again"));
    for (const { elector } of [a, b]) await elector.stop();
  });

  test("of a candidate whose reads failed after its writes stays bad until it can write", async () => {
    const [a, b] = [world.candidate("a"), world.candidate("b")];
    a.run();
    await world.clock.advance(1_000);
    b.run();
    a.records.failAll({ kind: "unavailable" });
    await world.clock.advance(3 * LEASE_MS);
    a.records.heal();
    a.records.failAll({ kind: "lost" }, "put");
    await world.clock.advance(LEASE_MS);

    expect(a.elector.health().lastError).toMatchObject({ code: "STORE_TIMEOUT" });

    a.records.heal();
    await world.clock.advance(2 * RETRY_PERIOD_MS);
    expect(a.elector.health().lastError).toBeUndefined();
    for (const { elector } of [a, b]) await elector.stop();
  });

  test("of a candidate that has just thawed is correct before any timer has run", async () => {
    const frozen = new ProcessClock(world.clock);
    const a = world.candidate("a", { clock: frozen });
    const leadership = await a.elector.campaign();
    frozen.pause();
    await world.clock.advance(2 * LEASE_MS);

    expect(a.elector.health()).toMatchObject({ state: "ending", leading: false, term: 1, validForMs: 0 });

    frozen.resume();
    await leadership.release();
  });
});

test("an event that a person must act on is an error, and its warning has a code", () => {
  const election = "e";
  const written = [
    EVENT_LINES.overrun({ election, term: 1, sinceSignalMs: 1 } as never, "a"),
    EVENT_LINES.listenerFailed({ election, event: "renewed", error: new Error("no") } as never, "a"),
    EVENT_LINES.storeFailed({ election, error: new ForeignRecordError("e", "the blob", "it is text") } as never, "a"),
  ];
  expect(written.map(({ level, warning }) => [level, warning])).toEqual([
    ["error", "LEASEHOLD_OVERRUN"],
    ["error", "LEASEHOLD_LISTENER_FAILED"],
    ["error", "LEASEHOLD_RECORD_UNUSABLE"],
  ]);
});
