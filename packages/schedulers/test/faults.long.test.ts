import { sleep } from "@leasehold/core/provider";
import { VirtualClock, type SimulatedRecordService } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { viaWrappers, type Adapter, type Job } from "./adapters.ts";
import { Host } from "./host.ts";
import { everySecond, occurrenceService, type Done } from "./ticks.ts";

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

let world: VirtualClock;
let service: SimulatedRecordService;
let done: Done;
/** The time at which the first tick is due. */
let firstMs: number;

beforeEach(async () => {
  world = new VirtualClock();
  service = occurrenceService(world);
  done = new Map();
  // Start in the middle between two ticks.
  await world.advance(SECOND_MS / 2);
  firstMs = world.wallMs() + SECOND_MS / 2;
});

/** Returns how often each tick was done, from the first, as digits. */
function digits(count: number, everyMs = SECOND_MS): string {
  return Array.from({ length: count }, (_, tick) => done.get(firstMs + tick * everyMs) ?? 0).join("");
}

describe.each(Object.entries<Adapter>(viaWrappers))("%s:", (_, adapter) => {
  test("ticks that one host misses because its event loop is blocked are done by the other", async () => {
    const [a, b] = [new Host(world, service), new Host(world, service, { wallOffsetMs: -300 })];
    await adapter(a, everySecond(a, done));
    await adapter(b, everySecond(b, done));
    await world.advance(2_900);
    a.clock.pause();
    await world.advance(4_000);
    a.clock.resume();
    await world.advance(4_000);

    expect(digits(10)).toBe("1111111111");
  });

  test("a host that was suspended for an hour repeats no tick, and continues with the present ones", async () => {
    const [a, b] = [new Host(world, service), new Host(world, service, { wallOffsetMs: -300 })];
    const everyMinute = (host: Host): Job => ({ ...everySecond(host, done), pattern: "0 * * * * *" });
    firstMs = Math.ceil(world.wallMs() / 60_000) * 60_000;
    await adapter(a, everyMinute(a));
    await adapter(b, everyMinute(b));
    await world.advance(5 * 60_000);
    a.clock.suspend();
    await world.advance(HOUR_MS);
    a.clock.resume();
    await world.advance(5 * 60_000);

    expect(digits(69, 60_000)).toBe("1".repeat(69));
    expect([...done.values()].filter((often) => often !== 1)).toEqual([]);
  });

  test("a tick whose host dies during it is done by the other host, which waits", async () => {
    const [a, b] = [new Host(world, service), new Host(world, service, { wallOffsetMs: -20 })];
    await adapter(a, everySecond(a, done));
    await adapter(b, everySecond(b, done));
    await world.advance(2_550);
    a.clock.kill();
    await world.advance(30_000);

    expect(digits(30)).toBe("1".repeat(30));
  });

  test("a tick that fails is tried by the other host, once, and the next ticks are done", async () => {
    const tried: string[] = [];
    const hosts = { a: new Host(world, service), b: new Host(world, service, { wallOffsetMs: -300 }) };
    const failing = (name: string, host: Host): Job => ({
      ...everySecond(host, done),
      async work(scheduledMs) {
        await sleep(host.clock, 80);
        if (scheduledMs !== firstMs + SECOND_MS) return;
        tried.push(name);
        throw new Error("disk full");
      },
    });
    for (const [name, host] of Object.entries(hosts)) await adapter(host, failing(name, host));
    await world.advance(5_000);

    expect(tried).toEqual(["a", "b"]);
  });

  test("after the signal aborts no tick begins, a running one aborts, and a waiting one returns", async () => {
    const stopping = new AbortController();
    const [a, b] = [new Host(world, service), new Host(world, service, { wallOffsetMs: -300 })];
    const log: string[] = [];
    const job = (host: Host): Job => ({
      ...everySecond(host, done),
      options: { signal: stopping.signal },
      async work(_scheduledMs, leadership) {
        log.push("begun");
        await sleep(host.clock, HOUR_MS, leadership?.signal).catch((error: unknown) => {
          log.push((error as Error).message);
          throw error;
        });
      },
    });
    await adapter(a, job(a));
    await adapter(b, job(b));
    await world.advance(1_300);
    stopping.abort(new Error("SIGTERM"));
    await world.advance(5_000);

    expect(log).toEqual(["begun", "SIGTERM"]);
  });

  test("two schedules of one name that are due at the same time have one tick", async () => {
    const a = new Host(world, service);
    await adapter(a, everySecond(a, done));
    await adapter(a, everySecond(a, done));
    await world.advance(3_000);

    expect(digits(3)).toBe("111");
  });
});
