import "reflect-metadata";
import { MemoryLeaseStore, StoreError, type ClaimedLeadership, type LeaseStore } from "@leasehold/core";
import { RecordLeaseStore, MemoryRecordStore } from "@leasehold/core/provider";
import { TestLeaseStore, VirtualClock, type SimulatedRecordService } from "@leasehold/core/testing";
import * as viaCron from "@leasehold/schedulers/cron";
import * as viaCroner from "@leasehold/schedulers/croner";
import { OncePerTick } from "@leasehold/schedulers/nestjs";
import * as viaNodeCron from "@leasehold/schedulers/node-cron";
import * as viaNodeSchedule from "@leasehold/schedulers/node-schedule";
import { Injectable, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ScheduleModule } from "@nestjs/schedule";
import { CronJob, CronTime } from "cron";
import { Cron } from "croner";
import { createTask, type TaskContext } from "node-cron";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { viaCoordinator, type Job } from "./adapters.ts";
import { Host } from "./host.ts";
import { Lines } from "./lines.ts";
import { occurrenceService } from "./ticks.ts";
import { dueOf } from "../src/due-by-cron.ts";

const NAME = "close-the-books";
const store = new MemoryLeaseStore();

const MAKERS: Record<string, (options: object, job?: unknown) => unknown> = {
  "node-cron": (options, job = () => 0) => viaNodeCron.oncePerTick(options as never, job as never),
  cron: (options, job = () => 0) => viaCron.oncePerTick(options as never, job as never),
  croner: (options, job = () => 0) => viaCroner.oncePerTick(options as never, job as never),
  "node-schedule": (options, job = () => 0) => viaNodeSchedule.oncePerTick(options as never, job as never),
};

describe.each(Object.entries(MAKERS))("oncePerTick of %s", (_, make) => {
  test("refuses invalid options before any tick", () => {
    const refuses = (options: object, message: string, job?: unknown): void => expect(() => make(options, job)).toThrow(message);
    refuses(undefined as never, "store is not a LeaseStore");
    refuses({ store }, "name must be a string");
    refuses({ store, name: NAME, retryMs: 1 }, "oncePerTick has no option 'retryMs'");
    refuses({ store, name: NAME, scheduledAt: 0 }, "oncePerTick has no option 'scheduledAt'");
    refuses({ store, name: NAME, leaseDurationMs: 15 }, "Were 15 seconds meant?");
    refuses({ store, name: NAME, whenInProgress: "skip" }, "whenInProgress is");
    refuses({ store, name: NAME, signal: {} }, "The signal given to oncePerTick is not an AbortSignal");
    refuses({ store, name: NAME }, "oncePerTick needs a job", 7);
    refuses({ store: new RecordLeaseStore(new MemoryRecordStore()), name: NAME }, "cannot keep occurrences: oncePerTick needs");
    expect(() => make({ store, name: NAME })).not.toThrow();
  });
});

test.each(["node-cron", "croner"])("oncePerTick of %s says so if another scheduler calls it", async (scheduler) => {
  const onTick = MAKERS[scheduler]!({ store, name: NAME }) as (context: unknown) => Promise<unknown>;
  for (const context of [{}, undefined]) {
    await expect(onTick(context)).rejects.toThrow(`'${NAME}' did not come from ${scheduler}. Import oncePerTick from the entry`);
  }
});

describe("OncePerTick of NestJS", () => {
  class Books {
    readonly field: number = 1;
    close(): void {}
  }
  const decorate = (options: object, cronOptions: object = { name: NAME }, descriptor?: PropertyDescriptor): void =>
    OncePerTick("0 3 * * *", cronOptions as never, options as never)(
      Books.prototype,
      "close",
      descriptor ?? (Object.getOwnPropertyDescriptor(Books.prototype, "close") as PropertyDescriptor),
    );

  test("refuses invalid options where the class is defined", () => {
    expect(() => decorate({ store, retryMs: 1 })).toThrow("OncePerTick has no option 'retryMs'");
    expect(() => decorate({ store: {} })).toThrow("store is not a LeaseStore");
    expect(() => decorate({ store }, {})).toThrow("name must be a string");
    expect(() => decorate({ store }, { name: NAME }, { value: 7 })).toThrow("OncePerTick is for a method, which close is not");
    const since = "2026-01-01T00:00:00Z";
    expect(() => decorate({ store, catchUp: { atMost: 0, since } })).toThrow("catchUp.atMost is 0");
    expect(() => decorate({ store, catchUp: { atMost: 1, since } })).not.toThrow();
  });
});

describe("with the system's time,", () => {
  const DUE = "2026-11-22T03:00:00.000Z";

  beforeEach(() => {
    vi.useFakeTimers({ now: Date.parse(DUE) - 10_000 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const scheduled = ({ occurrence }: ClaimedLeadership): string => new Date(occurrence.scheduledMs).toISOString();

  test("node-cron's job gets the leadership and the context", async () => {
    const seen: unknown[] = [];
    const wrapped = viaNodeCron.oncePerTick({ store: new MemoryLeaseStore(), name: NAME }, (leadership, { date }) =>
      seen.push(scheduled(leadership), date.toISOString()),
    );
    const task = createTask("0 3 * * *", wrapped, { timezone: "Etc/UTC" });
    await task.start();
    await vi.advanceTimersByTimeAsync(11_000);
    await task.destroy();

    expect(seen).toEqual([DUE, DUE]);
  });

  test("after the signal aborts no tick begins and a waiting one ends; an error of the job is thrown", async () => {
    const stop = new AbortController();
    const shared = new MemoryLeaseStore();
    const work = ({ signal }: ClaimedLeadership): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    const wrapped = viaNodeCron.oncePerTick({ store: shared, name: NAME, signal: stop.signal }, work);
    const context = { date: new Date(DUE) } as TaskContext;
    const ticks = Promise.allSettled([wrapped(context), wrapped(context)]);
    await vi.advanceTimersByTimeAsync(1_000);
    stop.abort(new Error("SIGTERM"));

    await expect(ticks).resolves.toEqual([
      { status: "rejected", reason: new Error("SIGTERM") },
      { status: "fulfilled", value: { ran: false, reason: "stopped" } },
    ]);
    await expect(wrapped(context)).resolves.toEqual({ ran: false, reason: "stopped" });
  });

  test("node-cron's execute() is refused, because it is no tick", async () => {
    const wrapped = viaNodeCron.oncePerTick({ store: new MemoryLeaseStore(), name: NAME }, () => "closed");
    const context = { date: new Date(), execution: { id: "1", reason: "invoked" } } as TaskContext;
    await expect(wrapped(context)).rejects.toThrow("task.execute() is no tick of 'close-the-books'");
  });

  test("cron's job with its own context is refused, because that context has no schedule", async () => {
    const errors: unknown[] = [];
    const job = CronJob.from({
      cronTime: "0 3 * * *",
      timeZone: "Etc/UTC",
      context: { my: "own" },
      onTick: viaCron.oncePerTick({ store: new MemoryLeaseStore(), name: NAME }, () => "closed"),
      errorHandler: (error) => void errors.push(error),
      start: true,
    });
    await vi.advanceTimersByTimeAsync(11_000);
    await job.stop();

    expect(String(errors[0])).toMatch(/Leave its option 'context' out/);
    const byHand = viaCron.oncePerTick({ store: new MemoryLeaseStore(), name: NAME }, () => "closed");
    for (const context of [undefined, { lastDate: () => null }, { cronTime: { getNextDateFrom: () => null } }])
      await expect(byHand.call(context)).rejects.toThrow("a context that is not its CronJob");
  });

  test("cron's errorHandler gets an error of the job", async () => {
    const errors: unknown[] = [];
    const job = CronJob.from({
      cronTime: "0 3 * * *",
      timeZone: "Etc/UTC",
      onTick: viaCron.oncePerTick({ store: new MemoryLeaseStore(), name: NAME }, () => Promise.reject(new Error("disk full"))),
      errorHandler: (error) => void errors.push(error),
      start: true,
    });
    await vi.advanceTimersByTimeAsync(11_000);
    await job.stop();

    expect(errors).toEqual([new Error("disk full")]);
  });

  test("cron's runOnInit does the tick before the start unless it is done; fireOnTick by hand does the last one", async () => {
    const seen: string[] = [];
    const onTick = viaCron.oncePerTick({ store: new MemoryLeaseStore(), name: NAME }, (leadership) =>
      seen.push(scheduled(leadership)),
    );
    const start = (): CronJob =>
      CronJob.from({ cronTime: "0 3 * * *", timeZone: "Etc/UTC", onTick, start: true, runOnInit: true }) as CronJob;
    const job = start();
    await vi.advanceTimersByTimeAsync(1_000);
    await start().stop();
    await vi.advanceTimersByTimeAsync(10_000);
    await job.fireOnTick();
    await vi.advanceTimersByTimeAsync(1_000);
    await job.stop();

    expect(seen).toEqual(["2026-11-21T03:00:00.000Z", DUE]);
  });

  test("NestJS's method gets the leadership, its service returns the options once, and Nest gets its errors", async () => {
    const seen: string[] = [];
    const heard: unknown[] = [];
    class Books {
      readonly store = new MemoryLeaseStore();
      asked = 0;
      close(leadership: ClaimedLeadership): void {
        seen.push(`${scheduled(leadership)} of ${this.asked}`);
        throw new Error("disk full");
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Books.prototype, "close")!;
    const options = (service: Books): { store: LeaseStore } => {
      service.asked += 1;
      return { store: service.store };
    };
    OncePerTick("* * * * * *", { name: NAME, timeZone: "Etc/UTC" }, options)(Books.prototype as Books, "close", descriptor);
    Object.defineProperty(Books.prototype, "close", descriptor);
    Injectable()(Books);
    class App {
      readonly name = "app";
    }
    Module({ imports: [ScheduleModule.forRoot()], providers: [Books] })(App);
    const logger = { log() {}, warn() {}, error: (error: unknown) => void heard.push(error) };
    const app = await NestFactory.createApplicationContext(App, { logger });
    await vi.advanceTimersByTimeAsync(2_500);
    await app.close();

    expect(seen).toEqual(["2026-11-22T02:59:51.000Z of 1", "2026-11-22T02:59:52.000Z of 1"]);
    expect(heard).toEqual([new Error("disk full"), new Error("disk full")]);
  });

  test("a date as NestJS's schedule is done once, by one of two apps", async () => {
    const seen: string[] = [];
    const shared = new MemoryLeaseStore();
    const start = async () => {
      class Books {
        close(leadership: ClaimedLeadership): void {
          seen.push(scheduled(leadership));
        }
      }
      const descriptor = Object.getOwnPropertyDescriptor(Books.prototype, "close")!;
      OncePerTick(new Date(DUE), { name: NAME }, { store: shared })(Books.prototype, "close", descriptor);
      Object.defineProperty(Books.prototype, "close", descriptor);
      Injectable()(Books);
      class App {
        readonly name = "app";
      }
      Module({ imports: [ScheduleModule.forRoot()], providers: [Books] })(App);
      return await NestFactory.createApplicationContext(App, { logger: false });
    };
    const apps = [await start(), await start()];
    await vi.advanceTimersByTimeAsync(11_000);
    await Promise.all(apps.map(async (app) => await app.close()));

    expect(seen).toEqual([DUE]);
  });

  test("NestJS waits for the running tick before it destroys the service's imports, and then calls the service's hook", async () => {
    const seen: string[] = [];
    class Books {
      readonly store = new MemoryLeaseStore();
      async close({ signal }: ClaimedLeadership): Promise<void> {
        seen.push("begun");
        await new Promise((resolve) => setTimeout(resolve, 5_000));
        seen.push(`done, aborted: ${signal.aborted}`);
      }
      async onModuleDestroy(): Promise<void> {
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        seen.push("own hook");
      }
    }
    class Pool {
      onModuleDestroy(): void {
        seen.push("pool closed");
      }
    }
    class Database {
      readonly name = "database";
    }
    Injectable()(Pool);
    Module({ providers: [Pool] })(Database);
    const descriptor = Object.getOwnPropertyDescriptor(Books.prototype, "close")!;
    const options = ({ store: own }: Books): { store: LeaseStore } => ({ store: own });
    OncePerTick("0 3 * * *", { name: NAME, timeZone: "Etc/UTC" }, options)(Books.prototype as Books, "close", descriptor);
    Object.defineProperty(Books.prototype, "close", descriptor);
    Injectable()(Books);
    class App {
      readonly name = "app";
    }
    Module({ imports: [ScheduleModule.forRoot(), Database], providers: [Books] })(App);
    const app = await NestFactory.createApplicationContext(App, { logger: false });
    await vi.advanceTimersByTimeAsync(11_000);
    const closing = app.close().then(() => seen.push("closed"));
    await vi.advanceTimersByTimeAsync(60_000);
    await closing;

    expect(seen).toEqual(["begun", "done, aborted: false", "own hook", "pool closed", "closed"]);
  });

  test.each(["cron", "croner", "node-cron"])("a closed wrapper of %s takes no ticks", async (scheduler) => {
    const ran: string[] = [];
    const tick = MAKERS[scheduler]!({ store: new MemoryLeaseStore(), name: NAME }, () => ran.push(scheduler)) as unknown as {
      call: (self: unknown, context: unknown) => Promise<unknown>;
      close: () => Promise<void>;
    };
    await tick.close();
    const job = new CronJob("0 3 * * *", () => undefined, null, false, "Etc/UTC");
    const cron = new Cron("0 3 * * *", { timezone: "Etc/UTC", paused: true });
    const context = scheduler === "croner" ? cron : { date: new Date(DUE) };

    await tick.call(job, context);
    expect(ran).toEqual([]);
  });

  test("a date as cron's schedule is the time at which it was due", async () => {
    const seen: string[] = [];
    const job = CronJob.from({
      cronTime: new Date(DUE),
      onTick: viaCron.oncePerTick({ store: new MemoryLeaseStore(), name: NAME }, (leadership) =>
        seen.push(scheduled(leadership)),
      ),
      start: true,
    });
    await vi.advanceTimersByTimeAsync(11_000);
    await job.stop();

    expect(seen).toEqual([DUE]);
  });

  test("a date of cron's that has passed by milliseconds is done by one host, without a warning", async () => {
    const due = new Date(Date.parse(DUE) + 123);
    const logger = new Lines();
    const shared = new MemoryLeaseStore();
    const seen: string[] = [];
    const errors: unknown[] = [];
    const start = (): CronJob =>
      CronJob.from({
        cronTime: due,
        onTick: viaCron.oncePerTick({ store: shared, name: NAME, logger }, (leadership) => seen.push(scheduled(leadership))),
        errorHandler: (error) => void errors.push(error),
        start: true,
      }) as CronJob;
    const jobs = [start(), start()];
    await vi.advanceTimersByTimeAsync(10_122);
    // The timer fires a little late.
    vi.setSystemTime(due.getTime() + 2);
    await vi.advanceTimersByTimeAsync(5_000);
    await Promise.all(jobs.map(async (job) => await job.stop()));

    expect(errors).toEqual([]);
    expect(seen).toEqual([due.toISOString()]);
    expect(logger.warnings).toEqual([]);
  });

  test("a schedule of cron's that never advances is refused after a limited number of steps", () => {
    const cronTime = new CronTime("0 3 * * *", "Etc/UTC");
    const stuck = cronTime.getNextDateFrom(new Date(Date.parse(DUE) - 1_000));
    cronTime.getNextDateFrom = () => stuck;

    expect(() => dueOf({ cronTime, lastDate: () => new Date(DUE) })).toThrow(
      "cron gives no last time of the schedule '0 3 * * *'",
    );
  });

  test("croner's job gets the leadership and the job; a date as its pattern is the time at which it was due", async () => {
    const seen: unknown[] = [];
    const wrapped = viaCroner.oncePerTick({ store: new MemoryLeaseStore(), name: NAME }, (leadership, { name }) =>
      seen.push(scheduled(leadership), name),
    );
    const job = new Cron(DUE, { name: "once" }, wrapped);
    await vi.advanceTimersByTimeAsync(11_000);
    job.stop();

    expect(seen).toEqual([DUE, "once"]);
  });

  test.each(["cron", "croner"])("a date of %s's has no missed tick before it, with catchUp", async (scheduler) => {
    const due = new Date(DUE);
    const seen: string[] = [];
    const errors: unknown[] = [];
    const options = { store: new MemoryLeaseStore(), name: NAME, catchUp: { atMost: 3, since: "2025-12-01T00:00:00Z" } };
    const work = (leadership: ClaimedLeadership): unknown => seen.push(scheduled(leadership));
    const errorHandler = (error: unknown): void => void errors.push(error);
    if (scheduler === "cron") {
      CronJob.from({ cronTime: due, onTick: viaCron.oncePerTick(options, work), start: true, errorHandler });
    } else void new Cron(due, { catch: errorHandler }, viaCroner.oncePerTick(options, work));
    await vi.advanceTimersByTimeAsync(11_000);

    expect(seen).toEqual([DUE]);
    expect(errors).toEqual([]);
  });

  test("a date of croner's with milliseconds is not mistaken for the present time", async () => {
    const due = new Date(Date.parse(DUE) + 123);
    const logger = new Lines();
    const seen: unknown[] = [];
    const wrapped = viaCroner.oncePerTick({ store: new MemoryLeaseStore(), name: NAME, logger }, (leadership) =>
      seen.push(scheduled(leadership)),
    );
    const job = new Cron(due, {}, wrapped);
    await vi.advanceTimersByTimeAsync(11_000);
    job.stop();

    expect([seen, logger.warnings]).toEqual([[due.toISOString()], []]);
  });

  test.each([
    ["2027-01-01T00:00:00Z", ""],
    ["0 0 31 2 *", "0 0 31 2 *"],
  ])("a tick by hand of a schedule that was never due, %s, is refused", async (pattern, named) => {
    const options = { catch: (error: unknown) => void errors.push(error) };
    const errors: unknown[] = [];
    const job = new Cron(
      pattern,
      options,
      viaCroner.oncePerTick({ store, name: NAME }, () => 0),
    );
    await job.trigger();
    job.stop();

    expect(String(errors[0])).toContain(`The schedule '${named}' was never due`);
  });

  test.each([
    [-1, "2026-11-21T03:00:00.000Z"],
    [0, DUE],
    [1, DUE],
  ])("croner's tick that fires %i ms after one was due is the last that was due by then", async (afterMs, due) => {
    const seen: string[] = [];
    const wrapped = viaCroner.oncePerTick({ store: new MemoryLeaseStore(), name: NAME }, (leadership) =>
      seen.push(scheduled(leadership)),
    );
    vi.setSystemTime(Date.parse(DUE) + afterMs);
    const tick = wrapped(new Cron("0 3 * * *", { timezone: "Etc/UTC", paused: true }) as never);
    await vi.advanceTimersByTimeAsync(1_000);
    await tick;

    expect(seen).toEqual([due]);
  });

  test.each([1, 2, 10])(
    "croner's interval of %i s is refused if hosts would not agree on the time of a tick",
    async (interval) => {
      const errors: unknown[] = [];
      const ran: number[] = [];
      const options = { timezone: "Etc/UTC", interval, catch: (error: unknown) => void errors.push(error) };
      const job = new Cron(
        "* * * * * *",
        options,
        viaCroner.oncePerTick({ store, name: NAME }, () => ran.push(interval)),
      );
      await vi.advanceTimersByTimeAsync(1_500);
      job.stop();

      if (interval === 1) expect(ran).not.toEqual([]);
      else expect(String(errors[0])).toMatch(/The interval of 'close-the-books' counts from each host's own last run/);
    },
  );

  test("an error of Leasehold does not end a croner job's process without 'catch'; the job's error is croner's", async () => {
    const logger = new Lines();
    const away: LeaseStore = new MemoryLeaseStore();
    Object.assign(away, { occurrences: () => Object.assign(new MemoryLeaseStore().occurrences("any"), { read: denied }) });
    const wrapped = viaCroner.oncePerTick({ store: away, name: NAME, logger }, () => 0);
    const cron = new Cron("0 3 * * *", { timezone: "Etc/UTC", paused: true });
    const tick = wrapped(cron as never);
    await vi.advanceTimersByTimeAsync(1_000);
    await expect(tick).resolves.toBeUndefined();
    expect(logger.warnings).toEqual(["A tick of 'close-the-books' failed. It is denied."]);

    const caught = wrapped(new Cron("0 3 * * *", { timezone: "Etc/UTC", paused: true, catch: true }) as never);
    await expect(caught).rejects.toThrow("It is denied.");
    const failing = viaCroner.oncePerTick({ store: new MemoryLeaseStore(), name: NAME }, () =>
      Promise.reject(new Error("disk full")),
    );
    await expect(failing(cron as never)).rejects.toThrow("disk full");
  });

  test("the last time of a schedule is found, for any period and any age", () => {
    const due = (pattern: string, fired: string): string => {
      const cronTime = new CronTime(pattern, "Etc/UTC");
      return new Date(dueOf({ cronTime, lastDate: () => new Date(fired) })).toISOString();
    };
    expect(due("* * * * * *", "2026-11-22T03:00:00.000Z")).toBe("2026-11-22T03:00:00.000Z");
    expect(due("* * * * * *", "2026-11-22T03:00:00.999Z")).toBe("2026-11-22T03:00:00.000Z");
    expect(due("* * 3 * * *", "2026-11-22T20:00:00.500Z")).toBe("2026-11-22T03:59:59.000Z");
    expect(due("*/7 * 3 * * *", "2026-11-22T20:00:00.500Z")).toBe("2026-11-22T03:59:56.000Z");
    expect(due("0 3 * * *", "2026-11-22T02:59:59.999Z")).toBe("2026-11-21T03:00:00.000Z");
    expect(due("0 0 29 2 *", "2026-11-22T03:00:00.000Z")).toBe("2024-02-29T00:00:00.000Z");
    const inAnOffset = { cronTime: new CronTime("0 3 * * *", null, 90), lastDate: () => new Date("2026-11-22T01:30:00.004Z") };
    expect(new Date(dueOf(inAnOffset)).toISOString()).toBe("2026-11-22T01:30:00.000Z");
    const beganMs = Date.now();
    const byHandMs = dueOf({ cronTime: new CronTime("* * * * * *", "Etc/UTC"), lastDate: () => null });
    expect(byHandMs).toBeGreaterThan(beganMs - 1_000);
    expect(byHandMs).toBeLessThanOrEqual(Date.now());
    expect(() => due("0 0 31 2 *", "2026-11-22T03:00:00.000Z")).toThrow("No execution date was found");
  });
});

function denied(): Promise<never> {
  const details = { store: "memory", operation: "get", election: NAME, mayHaveBeenApplied: false };
  return Promise.reject(new StoreError("STORE_DENIED", "It is denied.", details));
}

describe("RunClaims, with node-cron's RunCoordinator:", () => {
  let world: VirtualClock;
  let service: SimulatedRecordService;

  beforeEach(async () => {
    world = new VirtualClock();
    service = occurrenceService(world);
    await world.advance(500);
  });

  function every(host: Host, work: Job["work"]): Promise<() => unknown> {
    return viaCoordinator(host, { name: NAME, pattern: "* * * * * *", work });
  }

  test("a failed run counts as done, and no other host does it: prefer the wrapper", async () => {
    const tried: number[] = [];
    for (const wallOffsetMs of [0, -300]) {
      await every(new Host(world, service, { wallOffsetMs }), (scheduledMs) => {
        tried.push(scheduledMs);
        throw new Error("disk full");
      });
    }
    await world.advance(3_000);

    expect(tried.length).toBe(3);
    expect(new Set(tried).size).toBe(3);
  });

  test("a run may take longer than distributedLease", async () => {
    const claims = new viaNodeCron.RunClaims({ store: new Host(world, service).store, logger: false });
    const others = new viaNodeCron.RunClaims({ store: new Host(world, service).store, logger: false });
    const key = `${NAME}:${new Date(world.wallMs() - 500).toISOString()}`;
    await expect(world.runUntil(claims.shouldRun(key, 30_000))).resolves.toBe(true);
    await world.advance(90_000);
    await expect(world.runUntil(others.shouldRun(key, 30_000))).resolves.toBe(false);
    await world.runUntil(claims.onComplete(key));
    await expect(world.runUntil(others.shouldRun(key, 30_000))).resolves.toBe(false);
    expect(world.pendingTimers).toBe(0);
  });

  test("onComplete rejects if the end of a run cannot be recorded, and a second call does nothing", async () => {
    const failing = new TestLeaseStore();
    const claims = new viaNodeCron.RunClaims({ store: failing, logger: false });
    const key = `${NAME}:${new Date(Math.floor(Date.now() / 1_000) * 1_000).toISOString()}`;
    await expect(claims.shouldRun(key, 1_000)).resolves.toBe(true);
    failing.fail();
    await expect(claims.onComplete(key)).rejects.toMatchObject({ code: "NOT_RECORDED" });
    await expect(claims.onComplete(key)).resolves.toBeUndefined();
  });

  test("onComplete of a run that was not allowed here does nothing", async () => {
    const claims = new viaNodeCron.RunClaims({ store: new Host(world, service).store, logger: false });
    await expect(claims.onComplete("another:2026-01-01T00:00:00.000Z")).resolves.toBeUndefined();
  });

  test("refuses invalid options, a key that is not node-cron's, and a lease of no time", async () => {
    expect(() => new viaNodeCron.RunClaims({ store: {} } as never)).toThrow("store is not a LeaseStore");
    expect(() => new viaNodeCron.RunClaims({ store, name: NAME } as never)).toThrow("RunClaims has no option 'name'");
    const claims = new viaNodeCron.RunClaims({ store });
    for (const key of ["books", "books:2026-13-01T00:00:00Z"]) {
      await expect(claims.shouldRun(key, 30_000)).rejects.toThrow(`node-cron gave the key "${key}"`);
    }
    await expect(claims.shouldRun(`${NAME}:${new Date().toISOString()}`, 30)).rejects.toThrow("leaseDurationMs is 30");
  });
});
