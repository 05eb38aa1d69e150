import {
  MemoryLeaseStore,
  oncePerOccurrence,
  StoreError,
  type ClaimedLeadership,
  type LeaseStore,
  type OccurrenceOutcome,
  type OncePerOccurrenceOptions,
} from "@leasehold/core";
import { MemoryRecordStore, RecordLeaseStore, sleep } from "@leasehold/core/provider";
import { promptNetwork, SimulatedRecordService, VirtualClock, type Network } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { Host, occurrenceService } from "./host.ts";
import { Lines } from "./lines.ts";

const NAME = "nightly";
const LEASE_MS = 15_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LOST: Network = () => ({ arrivals: [] });

let world: VirtualClock;
let service: SimulatedRecordService;
let a: Host;
let b: Host;
/** The time at which the occurrence was due. */
let due: number;

beforeEach(() => {
  world = new VirtualClock();
  service = occurrenceService(world);
  a = new Host(world, service);
  b = new Host(world, service);
  due = world.wallMs();
});

type Options = Partial<OncePerOccurrenceOptions>;

function deliver<T>(
  host: Host,
  task: (leadership: ClaimedLeadership) => T | Promise<T>,
  options: Options = {},
  signal?: AbortSignal,
) {
  return oncePerOccurrence<T>({ store: host.store, name: NAME, scheduledAt: due, logger: false, ...options }, task, { signal });
}

const DONE: OccurrenceOutcome<never> = { ran: false, reason: "done" };

function unavailable(): StoreError {
  return new StoreError("STORE_UNAVAILABLE", "It is away.", {
    store: "simulated",
    operation: "put",
    election: NAME,
    mayHaveBeenApplied: false,
  });
}

/** Every request fails without having arrived. */
const AWAY: Network = () => ({ arrivals: [], breaks: { afterMs: 1, error: unavailable() } });

describe("one occurrence", () => {
  test("is done by the first caller, and by no later one", async () => {
    await expect(world.runUntil(deliver(a, () => "billed"))).resolves.toEqual({ ran: true, result: "billed", attempt: 1 });

    await expect(world.runUntil(deliver(a, () => "again"))).resolves.toEqual(DONE);
    await expect(world.runUntil(deliver(b, () => "again"))).resolves.toEqual(DONE);
    expect(world.pendingTimers).toBe(0);
  });

  test("costs a read, a claim and a completion, and one read if it is done", async () => {
    await world.runUntil(deliver(a, () => "billed"));
    await world.runUntil(deliver(b, () => "again"));

    expect(a.requests).toEqual(["get", "put", "put"]);
    expect(b.requests).toEqual(["get"]);
  });

  test("is the same for every notation of its time, and another one a millisecond later", async () => {
    await world.runUntil(deliver(a, () => "billed", { scheduledAt: due }));

    for (const scheduledAt of [new Date(due), new Date(due).toISOString(), "2026-01-01T01:00:00+01:00"]) {
      await expect(world.runUntil(deliver(b, () => "again", { scheduledAt }))).resolves.toEqual(DONE);
    }
    await expect(world.runUntil(deliver(b, () => "next", { scheduledAt: due + 1 }))).resolves.toMatchObject({ ran: true });
    await expect(world.runUntil(deliver(b, () => "other", { name: "weekly" }))).resolves.toMatchObject({ ran: true });
  });

  test("gives its task the occurrence and the number of the attempt", async () => {
    await expect(world.runUntil(deliver(a, () => Promise.reject(new Error("disk full"))))).rejects.toThrow("disk full");

    const outcome = await world.runUntil(deliver(b, ({ occurrence, term, signal }) => ({ occurrence, term, signal })));
    const id = "nightly@2026-01-01T00:00:00.000Z";
    expect(outcome).toMatchObject({
      attempt: 2,
      result: { occurrence: { id, name: NAME, scheduledMs: due, attempt: 2 }, term: 2 },
    });
  });

  test("counts as in progress while its task works, for any duration", async () => {
    const working = Promise.withResolvers<string>();
    const first = deliver(a, () => working.promise);
    await world.advance(20 * LEASE_MS);

    await expect(world.runUntil(deliver(b, () => "twin"))).resolves.toEqual({ ran: false, reason: "in-progress" });
    working.resolve("billed");
    await expect(world.runUntil(first)).resolves.toMatchObject({ ran: true, result: "billed" });
    await expect(world.runUntil(deliver(b, () => "twin"))).resolves.toEqual(DONE);
  });

  test("is open again once the lease of a dead host has expired", async () => {
    void deliver(a, () => new Promise(() => undefined));
    await world.advance(LEASE_MS);
    a.clock.kill();
    await world.advance(LEASE_MS / 2);
    await expect(world.runUntil(deliver(b, () => "early"))).resolves.toEqual({ ran: false, reason: "in-progress" });
    await world.advance(LEASE_MS);

    await expect(world.runUntil(deliver(b, () => "billed"))).resolves.toEqual({ ran: true, result: "billed", attempt: 2 });
  });

  test("fences writes by its claim", async () => {
    const fences: unknown[] = [];
    const occurrences = a.store.occurrences?.bind(a.store);
    Object.assign(a.store, {
      occurrences: () =>
        Object.assign(occurrences?.(NAME, { retentionMs: DAY_MS }) ?? {}, {
          fence: ({ term, election }: ClaimedLeadership, row: string) => fences.push([election, term, row]),
        }),
    });
    const fence = (leadership: ClaimedLeadership): unknown => (leadership.fence as unknown as (row: string) => unknown)("bill 7");
    await world.runUntil(deliver(a, fence));
    expect(fences).toEqual([["nightly@2026-01-01T00:00:00.000Z", 1, "bill 7"]]);

    await expect(world.runUntil(deliver(b, fence, { name: "unfenced" }))).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });
});

describe("a caller that waits", () => {
  const wait: Options = { whenInProgress: "wait" };

  test("returns once it is done", async () => {
    const first = deliver(a, ({ signal }) => sleep(a.clock, 80, signal));
    const second = deliver(b, () => "twin", wait);
    const begunMs = world.monotonicMs();

    await expect(world.runUntil(second)).resolves.toEqual(DONE);
    expect(world.monotonicMs() - begunMs).toBeLessThan(300);
    await first;
  });

  test("does the occurrence when its claimant fails", async () => {
    const working = Promise.withResolvers<string>();
    const first = deliver(a, () => working.promise);
    const second = deliver(b, () => "billed", wait);
    await world.advance(10_000);
    working.reject(new Error("disk full"));

    await expect(world.runUntil(first)).rejects.toThrow("disk full");
    await expect(world.runUntil(second)).resolves.toEqual({ ran: true, result: "billed", attempt: 2 });
  });

  test("does the occurrence soon after the lease of a dead claimant", async () => {
    void deliver(a, () => new Promise(() => undefined));
    const second = deliver(b, () => "billed", wait);
    await world.advance(1_000);
    a.clock.kill();
    const diedMs = world.monotonicMs();

    await expect(world.runUntil(second)).resolves.toMatchObject({ ran: true, attempt: 2 });
    expect(world.monotonicMs() - diedMs).toBeGreaterThan(LEASE_MS - 1_000 - 100);
    expect(world.monotonicMs() - diedMs).toBeLessThan(LEASE_MS + 5_500);
  });

  test.each(["wait", "return"] as const)(
    "does the ticks of a dead host whose clock was 5 s ahead, also by a clock that may step, with '%s'",
    async (whenInProgress) => {
      service = new SimulatedRecordService(world, { storeClock: { toleranceMs: 100, exact: false, mayStep: true } });
      a = new Host(world, service, { wallOffsetMs: 5_000 });
      b = new Host(world, service);
      void deliver(a, () => new Promise(() => undefined));
      await world.advance(1_000);
      a.clock.kill();
      const delivered = (): Promise<OccurrenceOutcome<string>> => deliver(b, () => "billed", { whenInProgress });
      let outcome = await world.runUntil(delivered());
      for (let again = 0; !outcome.ran && again < 4; again += 1) {
        await world.advance(LEASE_MS);
        outcome = await world.runUntil(delivered());
      }

      expect(outcome).toEqual({ ran: true, result: "billed", attempt: 2 });
    },
  );

  test("polls rarely: an hour costs less than eight hundred requests", async () => {
    const working = Promise.withResolvers<void>();
    void deliver(a, () => working.promise);
    const second = deliver(b, () => "twin", wait);
    await world.advance(HOUR_MS);
    expect(b.requests.length).toBeLessThan(800);

    working.resolve();
    await expect(world.runUntil(second)).resolves.toEqual(DONE);
    expect(world.pendingTimers).toBe(0);
  });

  /**
   * Hosts A and B have one tick a minute, and the job hangs on A. Returns B's requests in each minute, and the outcomes of its
   * waits.
   */
  async function pileUp(minutes: number, logger: Lines, leaseDurationMs = LEASE_MS) {
    const hangs = async ({ signal }: ClaimedLeadership): Promise<void> =>
      await new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    const stop = new AbortController();
    const ended = new Map<number, unknown>();
    const requests: number[] = [];
    for (let minute = 0; minute < minutes; minute += 1) {
      const scheduledAt = due + minute * 60_000;
      deliver(a, hangs, { scheduledAt, leaseDurationMs }, stop.signal).catch(() => undefined);
      await world.advance(300);
      const before = b.requests.length;
      deliver(b, () => "done by b", { scheduledAt, whenInProgress: "wait", logger }).then(
        (outcome) => ended.set(minute, outcome),
        (error: unknown) => ended.set(minute, error),
      );
      await world.advance(60_000 - 300);
      requests.push(b.requests.length - before);
    }
    return { requests, ended, die: () => a.clock.pause() };
  }

  test("polls at a bounded rate for the ticks of a hanging job, warns once, and gives the oldest up", async () => {
    const logger = new Lines();
    const { requests, ended } = await pileUp(104, logger, HOUR_MS);

    expect(Math.max(...requests)).toBeLessThan(5 * requests[1]!);
    expect(logger.warnings).toHaveLength(1);
    expect(logger.warnings[0]).toMatch(
      /^This host waits for 10 occurrences of 'nightly'.*the oldest 'nightly@2026-01-01T00:00:00\.000Z'.*stallTimeoutMs/,
    );
    // 104 waits have begun. A wait ends at its next poll, which comes within minutes.
    await world.advance(300_000);
    expect([...ended.keys()].toSorted((x, y) => x - y)).toEqual([0, 1, 2, 3]);
    for (const outcome of ended.values()) expect(outcome).toEqual({ ran: false, reason: "in-progress" });
  });

  test("goes on after a short outage for each of them, even at a slow poll rate", async () => {
    const { ended } = await pileUp(20, new Lines());
    for (let outages = 0; outages < 10; outages += 1) {
      b.network = AWAY;
      await world.advance(5_000);
      b.network = promptNetwork();
      await world.advance(45_000);
    }
    expect(ended.size).toBe(0);
  });

  test("does all of them once the host on which they hang is dead", async () => {
    const { ended, die } = await pileUp(20, new Lines());
    die();
    await world.advance(LEASE_MS + 20 * 5_000);

    expect(ended.size).toBe(20);
    for (const outcome of ended.values()) expect(outcome).toMatchObject({ ran: true, result: "done by b" });
  });

  test("ends before the store may have forgotten that it was done", async () => {
    let outcome: unknown;
    void deliver(a, async ({ signal }) => await sleep(a.clock, 2 * DAY_MS, signal), { retentionMs: DAY_MS }).catch(
      () => undefined,
    );
    await world.advance(300);
    const waiting = deliver(b, () => "again", { whenInProgress: "wait", retentionMs: DAY_MS });
    void waiting.then((ended) => (outcome = ended));
    await world.advance(22 * HOUR_MS - 60_000);
    expect(outcome).toBeUndefined();
    await world.advance(120_000);

    expect(outcome).toEqual({ ran: false, reason: "in-progress" });
  });

  test("goes on after an outage that is shorter than the lease, and rejects in a longer one", async () => {
    const working = Promise.withResolvers<void>();
    void deliver(a, () => working.promise);
    const short = deliver(b, () => "twin", wait);
    await world.advance(30_000);
    b.network = AWAY;
    await world.advance(LEASE_MS - 6_000);
    b.network = promptNetwork();
    await world.advance(10_000);
    b.network = AWAY;
    await expect(world.runUntil(short)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    working.resolve();
  });
});

describe("a store that fails", () => {
  test("is thrown, and is never taken for an occurrence in progress", async () => {
    a.network = AWAY;
    await expect(world.runUntil(deliver(a, () => "billed"))).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    a.network = LOST;
    await expect(world.runUntil(deliver(a, () => "billed"))).rejects.toMatchObject({ code: "STORE_TIMEOUT" });

    await expect(world.runUntil(deliver(b, () => "billed"))).resolves.toMatchObject({ ran: true, attempt: 1 });
  });

  test("is read twice, because one lost reply is no outage", async () => {
    let requests = 0;
    a.network = (request) => (++requests === 1 ? AWAY : promptNetwork())(request);

    await expect(world.runUntil(deliver(a, () => "billed"))).resolves.toMatchObject({ ran: true, attempt: 1 });
  });

  test("gets further tries to record a completion, for as long as the claim blocks others", async () => {
    const outcome = deliver(a, () => {
      a.network = AWAY;
      return "billed";
    });
    await world.advance(10_000);
    a.network = promptNetwork();

    await expect(world.runUntil(outcome)).resolves.toEqual({ ran: true, result: "billed", attempt: 1 });
    await expect(world.runUntil(deliver(b, () => "again"))).resolves.toEqual(DONE);
  });

  test("and does not recover leaves the occurrence done and not recorded, as the error says", async () => {
    const begunMs = world.monotonicMs();
    const outcome = deliver(a, () => {
      a.network = AWAY;
      return "billed";
    });

    await expect(world.runUntil(outcome)).rejects.toMatchObject({
      code: "NOT_RECORDED",
      attempt: 1,
      election: "nightly@2026-01-01T00:00:00.000Z",
      message: expect.stringMatching(/is done, by attempt 1, but that could not be recorded: It is away\. /) as unknown,
      cause: { code: "STORE_UNAVAILABLE" },
    });
    expect(world.monotonicMs() - begunMs).toBeLessThan(LEASE_MS);
    expect(world.pendingTimers).toBe(0);
  });

  test("aborts the task's signal in time, and its occurrence is open for the next attempt", async () => {
    const outcome = deliver(a, async ({ signal }) => {
      a.network = AWAY;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      signal.throwIfAborted();
    });
    await expect(world.runUntil(outcome)).rejects.toMatchObject({ code: "LEASE_LOST", reason: "renew-deadline" });
    await world.advance(LEASE_MS);

    await expect(world.runUntil(deliver(b, () => "billed"))).resolves.toMatchObject({ ran: true, attempt: 2 });
  });
});

describe("a host that is frozen for longer than its lease", () => {
  test("rejects after the thaw if another host has taken over, and the other's completion counts", async () => {
    const thawed = Promise.withResolvers<void>();
    const slow = deliver(a, () => thawed.promise);
    await world.advance(1_000);
    a.clock.pause();
    await world.advance(2 * LEASE_MS);
    await expect(world.runUntil(deliver(b, () => "billed"))).resolves.toMatchObject({ ran: true, attempt: 2 });
    a.clock.resume();
    thawed.resolve();

    await expect(world.runUntil(slow)).rejects.toMatchObject({ code: "LEASE_LOST", reason: "taken" });
  });

  test("completes the occurrence after the thaw if no other host has taken over", async () => {
    const thawed = Promise.withResolvers<void>();
    const slow = deliver(a, () => thawed.promise);
    await world.advance(1_000);
    a.clock.suspend();
    await world.advance(HOUR_MS);
    a.clock.resume();
    thawed.resolve();

    await expect(world.runUntil(slow)).resolves.toMatchObject({ ran: true, attempt: 1 });
    await expect(world.runUntil(deliver(b, () => "again"))).resolves.toEqual(DONE);
  });
});

describe("a signal", () => {
  test("that has already aborted causes no request", async () => {
    const call = deliver(a, () => "billed", {}, AbortSignal.abort());
    await expect(call).rejects.toMatchObject({
      code: "ALREADY_ABORTED",
      message: expect.stringMatching(/^oncePerOccurrence/) as unknown,
    });
    expect(a.requests).toEqual([]);
  });

  test("that aborts while the task works reaches the task, whose error leaves the occurrence open", async () => {
    const stopping = new AbortController();
    const outcome = deliver(
      a,
      async ({ signal }) => {
        stopping.abort(new Error("SIGTERM"));
        await sleep(a.clock, 1_000);
        signal.throwIfAborted();
      },
      {},
      stopping.signal,
    );
    await expect(world.runUntil(outcome)).rejects.toThrow("SIGTERM");

    await expect(world.runUntil(deliver(b, () => "billed"))).resolves.toMatchObject({ ran: true, attempt: 2 });
  });

  test("that aborts does not undo a completion", async () => {
    const stopping = new AbortController();
    const outcome = deliver(a, () => stopping.abort(), {}, stopping.signal);

    await expect(world.runUntil(outcome)).resolves.toMatchObject({ ran: true });
    await expect(world.runUntil(deliver(b, () => "again"))).resolves.toEqual(DONE);
  });
});

describe("a task that stalls", () => {
  test("loses the occurrence to others, with stallTimeoutMs", async () => {
    const outcome = deliver(
      a,
      async (leadership) => {
        leadership.checkpoint();
        await sleep(a.clock, 4_000);
        leadership.signal.throwIfAborted();
      },
      { stallTimeoutMs: 3_000 },
    );
    await expect(world.runUntil(outcome)).rejects.toMatchObject({ reason: "stalled" });

    await expect(world.runUntil(deliver(b, () => "billed"))).resolves.toMatchObject({ attempt: 2 });
  });
});

describe("what cannot work is refused before any request:", () => {
  const cases: Record<string, [options: Record<string, unknown>, code: string, message: RegExp]> = {
    "an unknown option": [
      { retention: 1 },
      "CONFIGURATION",
      /^oncePerOccurrence has no option 'retention'. Was 'retentionMs' meant\?/,
    ],
    "no store": [{ store: undefined }, "CONFIGURATION", /^store is not a LeaseStore/],
    "no name": [{ name: undefined }, "CONFIGURATION", /^name must be a string, not undefined/],
    "an empty name": [{ name: "" }, "CONFIGURATION", /^name is empty/],
    "a name that leaves no room for the time": [{ name: "n".repeat(231) }, "CONFIGURATION", /^occurrence has 256 bytes/],
    "a wrong word": [{ whenInProgress: "skip" }, "CONFIGURATION", /^whenInProgress is "skip"; it must be 'return' or 'wait'/],
    "a short retention": [{ retentionMs: HOUR_MS }, "CONFIGURATION", /^retentionMs is 3600000; .* at least 86400000/],
    "a lease of 30 ms": [{ leaseDurationMs: 30 }, "CONFIGURATION", /Were 30 seconds meant\?/],
    "a logger that is none": [{ logger: {} }, "CONFIGURATION", /^logger has no debug/],
    "no time": [{ scheduledAt: undefined }, "CONFIGURATION", /^scheduledAt is missing, and so is key .* Pass the time/],
    "an object as time": [{ scheduledAt: {} }, "CONFIGURATION", /^scheduledAt is of type object. Pass/],
    "null as time": [{ scheduledAt: null }, "CONFIGURATION", /^scheduledAt is null. Pass/],
    "an invalid Date": [{ scheduledAt: new Date("x") }, "CONFIGURATION", /^scheduledAt is an invalid Date/],
    "a time without a zone": [
      { scheduledAt: "2026-01-01T00:00:00" },
      "CONFIGURATION",
      /^scheduledAt is .* not a time in ISO 8601/,
    ],
    microseconds: [{ scheduledAt: 1_767_225_600_000_000 }, "CONFIGURATION", /^scheduledAt is 1767225600000000. Pass/],
    seconds: [
      { scheduledAt: 1_767_225_600 },
      "CONFIGURATION",
      /^scheduledAt is 1970-01-21T10:53:45.600Z, .* Were seconds meant\? Then it is 1767225600000.$/,
    ],
    "a time that may be forgotten": [
      { scheduledAt: "2025-12-25T01:59:59Z" },
      "CONFIGURATION",
      /166.0 h ago .* may have forgotten/,
    ],
    "the far future": [{ scheduledAt: "2026-01-01T01:00:01Z" }, "CONFIGURATION", /is 2026-01-01T01:00:01.000Z, 1.0 h from now/],
  };

  test.each(Object.entries(cases))("%s", async (_, [options, code, message]) => {
    await expect(deliver(a, () => "billed", options as Options)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message) as unknown,
    });
    expect(a.requests).toEqual([]);
  });

  test("no options, no task, no signal", async () => {
    await expect(oncePerOccurrence(undefined as never, () => 0)).rejects.toThrow("store is not a LeaseStore");
    await expect(deliver(a, undefined as never)).rejects.toThrow("oncePerOccurrence needs a task");
    await expect(deliver(a, () => 0, {}, {} as AbortSignal)).rejects.toThrow("The signal given to oncePerOccurrence is not");
    expect(a.requests).toEqual([]);
  });

  test("a store that keeps no occurrences, or cannot tell their age", async () => {
    const records = new MemoryRecordStore(world);
    const keepsNone = new RecordLeaseStore(records, { clock: world });
    await expect(deliver(a, () => 0, { store: keepsNone })).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: "memory cannot keep occurrences: oncePerOccurrence needs a store that can.",
    });
    Object.assign(records, { capabilities: { ...records.capabilities, storeClock: undefined } });
    const ageless: LeaseStore = Object.assign(new RecordLeaseStore(records, { clock: world }), {
      occurrences: () => Object.assign(new MemoryLeaseStore(), new RecordLeaseStore(records, { clock: world })) as never,
    });
    await expect(deliver(a, () => 0, { store: ageless })).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });

  test("accepts the latest and the earliest possible times", async () => {
    for (const scheduledAt of ["2025-12-25T02:00:00Z", "2026-01-01T01:00:00Z"]) {
      await expect(world.runUntil(deliver(a, () => "billed", { scheduledAt }))).resolves.toMatchObject({ ran: true });
    }
  });
});

describe("two hosts, an 80 ms job and a hundred ticks, a second apart:", () => {
  const TICKS = 100;
  /** The hosts that did the work of each tick. */
  let done: Map<number, Host[]>;

  beforeEach(() => {
    done = new Map();
  });

  async function work(host: Host, tick: number): Promise<void> {
    await sleep(host.clock, 80);
    done.set(tick, [...(done.get(tick) ?? []), host]);
  }

  /** Fires at each tick of the host's own wall clock, as a scheduler does. */
  async function runTicks(host: Host, whenInProgress: "return" | "wait", skipped: readonly number[] = []): Promise<void> {
    const calls: Promise<unknown>[] = [];
    for (let tick = 1; tick <= TICKS; tick += 1) {
      const scheduledAt = due + tick * 1_000;
      await sleep(host.clock, Math.max(scheduledAt - host.clock.wallMs(), 0));
      if (skipped.includes(tick)) continue;
      calls.push(deliver(host, () => work(host, tick), { scheduledAt, whenInProgress }));
    }
    await Promise.all(calls);
  }

  const services = {
    "an exact clock": { toleranceMs: 0, exact: true },
    "a clock that may step": { toleranceMs: 100, exact: false, mayStep: true },
  };
  const cases = Object.entries(services).flatMap(([name, storeClock]) =>
    [0, 300, 5_000].flatMap((apartMs) => (["return", "wait"] as const).map((mode) => ({ name, storeClock, apartMs, mode }))),
  );

  test.each(cases)("each is done once, $apartMs ms apart, with $name and '$mode'", async ({ storeClock, apartMs, mode }) => {
    service = new SimulatedRecordService(world, { storeClock });
    a = new Host(world, service);
    b = new Host(world, service, { wallOffsetMs: -apartMs });
    await world.runUntil(Promise.all([runTicks(a, mode), runTicks(b, mode)]));

    expect(done.size).toBe(TICKS);
    expect([...done.values()].filter((hosts) => hosts.length !== 1)).toEqual([]);
    expect(world.pendingTimers).toBe(0);
  });

  test("each is done once, although each host skips some", async () => {
    b = new Host(world, service, { wallOffsetMs: -300 });
    const runs = [runTicks(a, "return", [3, 50, 51, 52]), runTicks(b, "return", [1, 2, 60])];
    await world.runUntil(Promise.all(runs));

    expect(done.size).toBe(TICKS);
    expect([...done.values()].filter((hosts) => hosts.length !== 1)).toEqual([]);
    expect([3, 50, 51, 52].map((tick) => done.get(tick))).toEqual([[b], [b], [b], [b]]);
  });

  test("the ticks of a host that dies halfway are done by the other host, which waits", async () => {
    b = new Host(world, service, { wallOffsetMs: -20 });
    void runTicks(a, "wait");
    const second = runTicks(b, "wait");
    await world.advance(10_050);
    a.clock.kill();
    a.network = LOST;
    await world.runUntil(second);

    expect(done.size).toBe(TICKS);
    expect([...done.values()].filter((hosts) => hosts.length !== 1)).toEqual([]);
    expect(done.get(10)).toEqual([b]);
  });
});

test("a scheduledAt that looks like the present time causes one warning", async () => {
  await world.advance(123);
  const logger = new Lines();
  const scheduledAt = world.wallMs();
  await world.runUntil(deliver(a, () => "billed", { scheduledAt, logger }));
  await world.runUntil(deliver(a, () => "billed", { scheduledAt: world.wallMs(), logger }));

  expect(logger.of("warn")).toEqual([
    "scheduledAt of 'nightly' is 2026-01-01T00:00:00.123Z, which looks like the present time: on another host that is another occurrence, and both would be done. Pass the time at which it was due by its schedule.",
  ]);
  const others = new Lines();
  await world.runUntil(deliver(a, () => "billed", { scheduledAt: Math.ceil(world.wallMs() / 1_000) * 1_000, logger: others }));
  await world.runUntil(deliver(a, () => "billed", { scheduledAt: world.wallMs() - 50, logger: others }));
  expect(others.of("warn")).toEqual([]);
});

test("the record of a completed occurrence is kept for retentionMs, by default a week", async () => {
  const kept: unknown[] = [];
  const occurrences = a.store.occurrences?.bind(a.store);
  Object.assign(a.store, {
    occurrences(name: string, options: { readonly retentionMs: number }) {
      kept.push([name, options.retentionMs]);
      return occurrences?.(name, options);
    },
  });
  await world.runUntil(deliver(a, () => "billed"));
  await world.runUntil(deliver(a, () => "billed", { retentionMs: DAY_MS }));

  expect(new Set(kept.map(String))).toEqual(new Set([`nightly,${7 * DAY_MS}`, `nightly,${DAY_MS}`]));
});
