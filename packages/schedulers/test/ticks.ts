import { sleep } from "@leasehold/core/provider";
import { SimulatedRecordService, type VirtualClock } from "@leasehold/core/testing";
import { expect } from "vitest";
import type { Adapter, Job } from "./adapters.ts";
import { Host } from "./host.ts";

const SECOND_MS = 1_000;

export function occurrenceService(world: VirtualClock): SimulatedRecordService {
  return new SimulatedRecordService(world, { storeClock: { toleranceMs: 0, exact: true } });
}

/** The number of ends of a job's work, by the time at which each tick was due. */
export type Done = Map<number, number>;

/** A job of 80 ms, every second, on one host. */
export function everySecond(host: Host, done: Done): Job {
  return {
    name: "every-second",
    pattern: "* * * * * *",
    async work(scheduledMs) {
      await sleep(host.clock, 80);
      done.set(scheduledMs, (done.get(scheduledMs) ?? 0) + 1);
    },
  };
}

export interface Ticks {
  readonly adapter: Adapter;
  readonly count: number;
  /** The time by which the second host's clock is behind. */
  readonly apartMs: number;
}

/** Lets two hosts do `count` ticks, a second apart, and expects that each was done once. */
export async function expectEachOnce(world: VirtualClock, { adapter, count, apartMs }: Ticks): Promise<void> {
  const service = occurrenceService(world);
  const hosts = [new Host(world, service), new Host(world, service, { wallOffsetMs: -apartMs })];
  const done: Done = new Map();
  // Start in the middle between two ticks.
  await world.advance(SECOND_MS / 2);
  const firstMs = world.wallMs() + SECOND_MS / 2;
  const stops = await Promise.all(hosts.map(async (host) => await adapter(host, everySecond(host, done))));
  await world.advance(count * SECOND_MS + apartMs);
  await Promise.all(stops.map(async (stop) => await stop()));
  await world.advance(60 * SECOND_MS);

  const times = Array.from({ length: count }, (_, tick) => firstMs + tick * SECOND_MS);
  expect(times.filter((ms) => done.get(ms) !== 1)).toEqual([]);
  expect([...done].filter(([, often]) => often !== 1)).toEqual([]);
  expect(world.pendingTimers).toBe(0);
}
