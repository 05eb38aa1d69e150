import { getEventListeners } from "node:events";
import { ConfigurationError, oncePerOccurrence, type ClaimedLeadership } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { VirtualClock, type SimulatedRecordService } from "@leasehold/core/testing";
import { every } from "@leasehold/schedulers/interval";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { Host } from "./host.ts";
import { Lines } from "./lines.ts";
import { occurrenceService } from "./ticks.ts";

const PERIOD_MS = 30_000;

let world: VirtualClock;
let service: SimulatedRecordService;
/** The ticks that were done, by the time at which they were due. */
let done: number[];

beforeEach(async () => {
  world = new VirtualClock();
  service = occurrenceService(world);
  done = [];
  await world.advance(500);
});

function start(host: Host, work: (leadership: ClaimedLeadership) => unknown = () => 0, more = {}) {
  return every({ store: host.store, name: "refresh", periodMs: PERIOD_MS, logger: false, ...more }, async (leadership) => {
    await work(leadership);
    done.push(leadership.occurrence.scheduledMs);
  });
}

describe("every", () => {
  test("does each tick of the grid once, on hosts whose clocks differ by more than the period", async () => {
    const hosts = [0, -PERIOD_MS - 300, 1_700].map((wallOffsetMs) => new Host(world, service, { wallOffsetMs }));
    const beganMs = world.wallMs();
    const jobs = hosts.map((host) => start(host));
    await world.advance(10 * PERIOD_MS);
    await world.runUntil(Promise.all(jobs.map(async (job) => await job.close())));

    expect(done.every((ms) => ms % PERIOD_MS === 0)).toBe(true);
    expect(new Set(done).size).toBe(done.length);
    const sorted = done.toSorted((x, y) => x - y);
    const [first = 0] = sorted;
    expect(first).toBeGreaterThan(beganMs - 2 * PERIOD_MS);
    expect(sorted).toEqual(done.map((_, tick) => first + tick * PERIOD_MS));
    expect(done.length).toBeGreaterThanOrEqual(10);
    expect(world.pendingTimers).toBe(0);
  });

  test.each([
    ["waits between two tries", 0],
    ["works, and throws then", 5_000],
  ])("close() does not wait for another try of a job that %s, whose error is reported", async (_, workMs) => {
    const host = new Host(world, service);
    const errors: unknown[] = [];
    let tries = 0;
    const work = async (): Promise<void> => {
      tries += 1;
      await sleep(host.clock, workMs);
      throw new Error("disk full");
    };
    const job = start(host, work, { tries: 5, backoffMs: 600_000, onError: (error: unknown) => errors.push(error) });
    await world.advance(PERIOD_MS + 1_000 - (world.wallMs() % PERIOD_MS));
    const closedMs = world.monotonicMs();
    await world.runUntil(job.close());

    expect(world.monotonicMs() - closedMs).toBeLessThan(10_000);
    expect(tries).toBe(1);
    expect(errors).toEqual([new Error("disk full")]);
  });

  test("close() lets the last try of a job fail for good", async () => {
    const [a, b] = [new Host(world, service), new Host(world, service)];
    const work = async (): Promise<void> => {
      await sleep(a.clock, 5_000);
      throw new Error("disk full");
    };
    const job = start(a, work, { tries: 1 });
    await world.advance(PERIOD_MS + 1_000 - (world.wallMs() % PERIOD_MS));
    await world.runUntil(job.close());

    const scheduledAt = Math.floor(world.wallMs() / PERIOD_MS) * PERIOD_MS;
    const again = oncePerOccurrence({ store: b.store, name: "refresh", scheduledAt, logger: false }, () => "again");
    await expect(world.runUntil(again)).resolves.toEqual({ ran: false, reason: "failed", failure: "Error" });
  });

  test("does a tick on another host if the first one dies during it", async () => {
    const [a, b] = [new Host(world, service), new Host(world, service, { wallOffsetMs: -200 })];
    start(a, () => new Promise(() => undefined));
    const other = start(b);
    await world.advance(PERIOD_MS + 1_000);
    a.clock.pause();
    expect(done).toEqual([]);
    await world.advance(60_000);

    expect(done.length).toBeGreaterThanOrEqual(2);
    await world.runUntil(other.close());
  });

  test("does no tick twice if the clock is set back, and stops with its signal", async () => {
    const host = new Host(world, service);
    const stop = new AbortController();
    start(host, () => 0, { signal: stop.signal });
    await world.advance(PERIOD_MS + 100);
    host.clock.jumpWall(-5_000);
    await world.advance(10_000);
    expect(done).toHaveLength(1);
    stop.abort();
    await world.advance(5 * PERIOD_MS);

    expect(done).toHaveLength(1);
    expect(world.pendingTimers).toBe(0);
  });

  test("leaves no listener on its signal after a tick", async () => {
    const { signal } = new AbortController();
    const job = start(new Host(world, service), () => 0, { signal });
    await world.advance(10_000);
    const before = getEventListeners(signal, "abort").length;
    await world.advance(5 * PERIOD_MS);
    expect(getEventListeners(signal, "abort")).toHaveLength(before);
    await world.runUntil(job.close());
  });

  test("does not do a tick that its host notices later than startWithinMs", async () => {
    const host = new Host(world, service);
    const job = start(host, () => 0, { startWithinMs: 10_000 });
    host.clock.pause();
    await world.advance(PERIOD_MS + 11_000);
    host.clock.resume();
    await world.advance(PERIOD_MS);
    await world.runUntil(job.close());

    expect(done.map((ms) => ms % (2 * PERIOD_MS))).toEqual([0]);
  });

  test("skips the ticks that are due while one runs on any host, with overlap 'skip'", async () => {
    const hosts = [new Host(world, service), new Host(world, service, { wallOffsetMs: -5_000 })];
    const work = ({ signal }: ClaimedLeadership): Promise<void> => sleep(world, 2.5 * PERIOD_MS, signal);
    const jobs = hosts.map((host) => start(host, work, { overlap: "skip" }));
    await world.advance(7 * PERIOD_MS);
    await world.runUntil(Promise.all(jobs.map(async (job) => await job.close())));

    const [first = 0] = done;
    expect(done).toEqual([first, first + 3 * PERIOD_MS, first + 6 * PERIOD_MS]);
    expect(world.pendingTimers).toBe(0);
  });

  test("close() gives up a tick that waits by overlap 'bufferOne'", async () => {
    const [a, b] = [new Host(world, service), new Host(world, service, { wallOffsetMs: PERIOD_MS - 5_000 })];
    const first = start(a, ({ signal }) => sleep(world, 10 * PERIOD_MS, signal), { overlap: "bufferOne" });
    await world.advance(PERIOD_MS);
    const second = start(b, () => 0, { overlap: "bufferOne" });
    await world.advance(10_000);
    // It has claimed the tick before that of the other host, and waits.
    const occurrences = a.store.occurrences?.("refresh", { retentionMs: 86_400_000 });
    await expect(world.runUntil(occurrences!.read("buffered"))).resolves.toMatchObject({ bar: { kind: "lease" } });
    await world.runUntil(second.close());

    expect(done).toEqual([]);
    await world.runUntil(first.close());
    expect(done).toHaveLength(1);
    expect(world.pendingTimers).toBe(0);
  });

  test("tries a tick again with tries, and reports its error once the last try has failed", async () => {
    const errors: unknown[] = [];
    let count = 0;
    const fails = (): never => {
      count += 1;
      throw new Error("disk full");
    };
    const options = { tries: 3, backoffMs: 1_000, onError: (error: unknown) => errors.push(error) };
    const jobs = [start(new Host(world, service), fails, options), start(new Host(world, service), fails, options)];
    await world.advance(PERIOD_MS + 15_000);
    await world.runUntil(Promise.all(jobs.map(async (job) => await job.close())));

    expect(count).toBe(3);
    expect(errors).toMatchObject([{ message: "disk full" }]);
  });

  test("reports an error of a tick, and continues", async () => {
    const logger = new Lines();
    const errors: unknown[] = [];
    const fails = () => Promise.reject(new Error("disk full"));
    const jobs = [
      start(new Host(world, service), fails, { logger }),
      start(new Host(world, service), fails, { name: "other", onError: (error: unknown) => errors.push(error) }),
    ];
    await world.advance(2 * PERIOD_MS);
    await world.runUntil(Promise.all(jobs.map(async (job) => await job.close())));

    expect(logger.warnings).toEqual(Array.from({ length: 2 }, () => "A tick of 'refresh' failed. disk full."));
    expect(errors).toEqual([new Error("disk full"), new Error("disk full")]);
  });

  test("asks for no tick between two, although its timer reads the clock each minute", async () => {
    const host = new Host(world, service);
    const job = start(host, undefined, { periodMs: 3_600_000 });
    await world.advance(3_600_000);
    const asked = vi.spyOn(host.store as Required<typeof host.store>, "occurrences");
    await world.advance(3_000_000);
    await job.close();
    expect(done.length).toBe(1);
    expect(asked).not.toHaveBeenCalled();
  });

  test("takes periods of a second and of a day", async () => {
    for (const periodMs of [1_000, 86_400_000]) await start(new Host(world, service), undefined, { periodMs }).close();
  });

  test("refuses invalid periods, and the options that oncePerTick refuses", () => {
    const { store } = new Host(world, service);
    for (const periodMs of [undefined, 0, 30, 999, 1_000.5, 86_400_001, "30s"]) {
      expect(() => every({ store, name: "n", periodMs: periodMs as never }, () => 0)).toThrow(ConfigurationError);
    }
    expect(() => every({ store, name: "n", periodMs: 30_000, period: 1 } as never, () => 0)).toThrow(
      "every has no option 'period'",
    );
    expect(() => every({ store, name: "n", periodMs: 30_000 }, 7 as never)).toThrow("every needs a job");
    expect(world.pendingTimers).toBe(0);
  });
});

describe("close", () => {
  test("takes no further ticks, ends waits, and awaits the running job without aborting its signal", async () => {
    const [a, b] = [new Host(world, service), new Host(world, service)];
    const aborted: boolean[] = [];
    const [working, waiting] = [a, b].map((host) =>
      start(host, async ({ signal }) => {
        await sleep(host.clock, 20_000);
        aborted.push(signal.aborted);
      }),
    );
    await world.advance(PERIOD_MS + 1_000);
    await world.runUntil(waiting!.close());
    expect(done).toEqual([]);
    let isClosed = false;
    const closing = working!.close().then(() => (isClosed = true));
    await world.advance(1_000);
    expect(isClosed).toBe(false);
    await world.runUntil(closing);
    await world.advance(3 * PERIOD_MS);

    expect([done.length, aborted]).toEqual([1, [false]]);
    expect(world.pendingTimers).toBe(0);
  });
});
