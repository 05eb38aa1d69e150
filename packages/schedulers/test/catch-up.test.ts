import { ConfigurationError } from "@leasehold/core";
import { occurrencesOf } from "@leasehold/core/occurrences";
import { RecordLeaseStore, RecordOccurrenceStore, sleep } from "@leasehold/core/provider";
import { promptNetwork, VirtualClock, type Network, type SimulatedRecordService } from "@leasehold/core/testing";
import { every } from "@leasehold/schedulers/interval";
import { oncePerTick as viaNodeCron, RunClaims } from "@leasehold/schedulers/node-cron";
import { oncePerTick as viaNodeSchedule } from "@leasehold/schedulers/node-schedule";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { viaWrappers } from "./adapters.ts";
import { Host } from "./host.ts";
import { occurrenceService } from "./ticks.ts";

const MINUTE_MS = 60_000;
/** The clock begins at this time. */
const SINCE = "2026-01-01T00:00:00Z";
const SINCE_MS = Date.parse(SINCE);

let world: VirtualClock;
let service: SimulatedRecordService;
/** The ticks that were done, in minutes since the beginning, in the order in which they began. */
let done: number[];

beforeEach(() => {
  world = new VirtualClock();
  service = occurrenceService(world);
  done = [];
});

function start(host: Host, catchUp?: object, work: (minute: number) => unknown = () => 0, more?: object) {
  const options = { store: host.store, name: "refresh", periodMs: MINUTE_MS, logger: false, catchUp, onError: () => 0 } as const;
  return every({ ...options, ...more } as never, async ({ occurrence }) => {
    const minute = (occurrence.scheduledMs - SINCE_MS) / MINUTE_MS;
    await work(minute);
    done.push(minute);
  });
}

/** Returns a host whose requests take this network. */
function connect(network: Network): Host {
  const host = new Host(world, service);
  const { clock } = host;
  const records = service.connect(clock, network);
  return Object.assign(host, {
    store: Object.assign(new RecordLeaseStore(records, { clock }), {
      occurrences: () => new RecordOccurrenceStore(records, { clock }),
    }),
  });
}

const all = { atMost: 100, since: SINCE };

describe("after an outage of all hosts", () => {
  test("every() does the missed ticks at its start, the oldest first, each once on hosts whose clocks differ", async () => {
    await world.advance(5.5 * MINUTE_MS);
    const hosts = [0, -2 * MINUTE_MS, 700].map((wallOffsetMs) => new Host(world, service, { wallOffsetMs }));
    const jobs = hosts.map((host) => start(host, all, () => sleep(host.clock, 80)));
    await world.advance(20_000);
    expect(done.toSorted((x, y) => x - y)).toEqual([0, 1, 2, 3, 4, 5]);

    await world.advance(3 * MINUTE_MS);
    await world.runUntil(Promise.all(jobs.map(async (job) => await job.close())));
    expect(done.toSorted((x, y) => x - y)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(world.pendingTimers).toBe(0);
  });

  test.each([
    ["atMost", { atMost: 2, since: SINCE }],
    ["withinMs", { ...all, withinMs: 2 * MINUTE_MS }],
    ["since", { ...all, since: "2026-01-01T00:04:00Z" }],
  ])("%s limits the missed ticks that are done", async (_, catchUp) => {
    await world.advance(5.5 * MINUTE_MS);
    const job = start(new Host(world, service), catchUp);
    await world.advance(1_000);
    await world.runUntil(job.close());
    expect(done).toEqual([4, 5]);
  });

  test("every() reports the error of a missed tick that it does at its start", async () => {
    await world.advance(2.5 * MINUTE_MS);
    const errors: unknown[] = [];
    const work = (minute: number): void => {
      if (minute < 2) throw new Error(`${minute} fails`);
    };
    const job = start(new Host(world, service), all, work, { onError: (error: unknown) => errors.push(error) });
    await world.advance(1_000);
    await world.runUntil(job.close());
    expect(done).toEqual([2]);
    expect(errors).toMatchObject([{ errors: [{ message: "0 fails" }, { message: "1 fails" }] }]);
  });

  test("close() ends with the tick that is being done, and leaves the others", async () => {
    await world.advance(5.5 * MINUTE_MS);
    const host = new Host(world, service);
    const job = start(host, all, () => sleep(host.clock, 5_000));
    await world.advance(1_000);
    await world.runUntil(job.close());
    await world.advance(MINUTE_MS);
    expect(done).toEqual([0]);
  });

  test.each(["cron", "croner", "NestJS"] as const)(
    "%s tells which ticks were due before, over a gap of its schedule",
    async (name) => {
      await world.advance(2 * MINUTE_MS + 500);
      const host = new Host(world, service);
      const due: string[] = [];
      const stop: () => unknown = await viaWrappers[name](host, {
        name: "sparse",
        pattern: "0 0,2 * * * *",
        work: (ms) => void due.push(new Date(ms).toISOString().slice(11, 16)),
        options: { catchUp: { atMost: 3, since: "2025-12-31T22:00:00Z" } },
      });
      await world.advance(59 * MINUTE_MS);
      await stop();
      expect(due).toEqual(["01:00", "23:02", "00:00", "00:02"]);
    },
  );

  test.each([
    ["node-cron", viaNodeCron],
    ["node-schedule", viaNodeSchedule],
  ])("%s needs a previous, because it does not tell which tick was before", (_, oncePerTick) => {
    const { store } = new Host(world, service);
    const options = { store, name: "n", catchUp: { atMost: 1, since: SINCE } };
    expect(() => oncePerTick(options, () => 0)).toThrow(ConfigurationError);
    expect(() => oncePerTick(options, () => 0)).toThrow("catchUp.previous must be a function");
    const previous = (ms: number): number => ms - MINUTE_MS;
    expect(() => oncePerTick({ ...options, catchUp: { ...options.catchUp, previous } }, () => 0)).not.toThrow();
  });
});

test("a tick that failed on every host, and one that the store missed, are done after the next tick", async () => {
  let isDown = false;
  const works = promptNetwork();
  const host = connect((request) => (isDown ? { arrivals: [] } : works(request)));
  let hasFailed = false;
  const job = start(host, all, (minute) => {
    if (minute === 1 && !hasFailed) {
      hasFailed = true;
      throw new Error("disk full");
    }
  });
  await world.advance(1.5 * MINUTE_MS);
  isDown = true;
  await world.advance(MINUTE_MS);
  isDown = false;
  await world.advance(MINUTE_MS);
  await world.runUntil(job.close());
  expect(done).toEqual([0, 3, 1, 2]);
});

test("the promise of a tick settles after the missed ones before it, with their errors", async () => {
  await world.advance(3 * MINUTE_MS);
  const host = new Host(world, service);
  const catchUp = { ...all, previous: (ms: number) => ms - MINUTE_MS };
  const onTick = viaNodeSchedule({ store: host.store, name: "refresh", logger: false, catchUp }, async ({ occurrence }) => {
    await sleep(host.clock, 5_000);
    const minute = (occurrence.scheduledMs - SINCE_MS) / MINUTE_MS;
    if (minute < 2) throw new Error(`${minute} fails`);
    done.push(minute);
  });
  const ticked = world.runUntil(onTick(new Date(SINCE_MS + 3 * MINUTE_MS)));
  await expect(ticked).rejects.toMatchObject({ errors: [{ message: "0 fails" }, { message: "1 fails" }] });
  expect(done).toEqual([3, 2]);
});

test("with catchUp a tick rejects with its job's own error, and one that comes again sends nothing", async () => {
  let requests = 0;
  const network = promptNetwork();
  const { store } = connect((request) => {
    requests += 1;
    return network(request);
  });
  const catchUp = { ...all, previous: (ms: number) => ms - MINUTE_MS };
  const errors = [new Error("disk full")];
  const onTick = viaNodeSchedule({ store, name: "refresh", logger: false, catchUp }, () => {
    for (const error of errors.splice(0)) throw error;
  });
  await expect(world.runUntil(onTick(new Date(SINCE_MS)))).rejects.toEqual(new Error("disk full"));
  await expect(world.runUntil(onTick(new Date(SINCE_MS)))).resolves.toMatchObject({ ran: true });
  requests = 0;
  await expect(world.runUntil(onTick(new Date(SINCE_MS)))).resolves.toEqual({ ran: false, reason: "done" });
  expect(requests).toBe(0);
});

test("a tick that failed for good is done after an administrator has reopened it", async () => {
  const host = new Host(world, service);
  let isBroken = true;
  const work = (minute: number): void => {
    if (minute === 1 && isBroken) throw new Error("disk full");
  };
  const job = start(host, all, work, { tries: 1 });
  await world.advance(3.5 * MINUTE_MS);
  expect(done).toEqual([0, 2, 3]);
  isBroken = false;
  const reopened = { minTerm: 2, leaseDurationMs: 1_000, reason: "disk replaced" };
  const failed = `refresh@${new Date(SINCE_MS + MINUTE_MS).toISOString()}`;
  await world.runUntil(occurrencesOf(host.store, "refresh", 86_400_000, "this test").repair(failed, reopened));
  await world.advance(MINUTE_MS);
  await world.runUntil(job.close());
  expect(done).toEqual([0, 2, 3, 4, 1]);
});

test("a hundred ticks leave no entry in a map or a set of their host", async () => {
  const made: Array<{ readonly size: number }> = [];
  const tracked = <C extends new (...args: never[]) => { readonly size: number }>(base: C): C =>
    new Proxy(base, {
      construct(target, args, self) {
        const collection = Reflect.construct(target, args, self) as { readonly size: number };
        made.push(collection);
        return collection;
      },
    });
  const { store } = new Host(world, service);
  vi.stubGlobal("Map", tracked(Map));
  vi.stubGlobal("Set", tracked(Set));
  const onTick = viaNodeSchedule({ store, name: "refresh", logger: false }, () => done.push(0));
  const claims = new RunClaims({ store, logger: false });
  vi.unstubAllGlobals();
  for (let tick = 0; tick < 100; tick += 1) {
    const dueAt = new Date(SINCE_MS + tick * MINUTE_MS);
    await world.runUntil(onTick(dueAt));
    const key = `other:${dueAt.toISOString()}`;
    await world.runUntil(claims.shouldRun(key, 15_000));
    await world.runUntil(claims.onComplete(key));
    await world.advance(MINUTE_MS);
  }

  expect(done.length).toBe(100);
  expect(made.length).toBeGreaterThanOrEqual(3);
  expect(made.map(({ size }) => size)).toEqual(made.map(() => 0));
});

test("a tick that was missed during its wait is over, and is read once", async () => {
  let requests = 0;
  const network = promptNetwork();
  const host = connect((request) => {
    requests += 1;
    return network(request);
  });
  const work = (minute: number): unknown => minute === 0 && sleep(host.clock, 90_000);
  const job = start(host, { ...all, atMost: 2 }, work, { overlap: "bufferOne", startWithinMs: 20_000 });
  await world.advance(2.5 * MINUTE_MS);
  requests = 0;
  await world.advance(MINUTE_MS);
  await world.runUntil(job.close());
  expect(done).toEqual([0, 2, 3]);
  // These are the run of the last tick.
  expect(requests).toBe(6);
});

test("a tick that its host has noticed too late to start it is caught up with", async () => {
  const host = new Host(world, service);
  const job = start(host, all, () => 0, { startWithinMs: 10_000 });
  await world.advance(500);
  host.clock.pause();
  await world.advance(MINUTE_MS + 11_000);
  host.clock.resume();
  await world.advance(2 * MINUTE_MS);
  await world.runUntil(job.close());
  expect(done.toSorted((x, y) => x - y)).toEqual([0, 1, 2, 3]);
});

test("a host that is up sends no more requests with catchUp than without it, but for its first look back", async () => {
  const count = async (catchUp?: object): Promise<number> => {
    let requests = 0;
    const network = promptNetwork();
    const host = connect((request) => {
      requests += 1;
      return network(request);
    });
    const job = start(host, catchUp);
    await world.advance(10 * MINUTE_MS);
    await world.runUntil(job.close());
    return requests;
  };
  await world.advance(500);
  const without = await count();
  const lookBack = 4;
  const withCatchUp = await count({ atMost: lookBack, since: SINCE });
  expect(without).toBe(30);
  expect(withCatchUp).toBe(30 + lookBack);
});
