/**
 * A process in which many electors lead at once. It prints one {@link ScaleReport} and must then end by itself. It is an entry
 * point: import nothing but types from here.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { Elector } from "@leasehold/core";
import { MemoryRecordStore, RecordLeaseStore } from "@leasehold/core/provider";
import type { LeaseRecord, PutOptions, PutOutcome } from "@leasehold/core/provider";
import { heapAfterGc } from "./heap.ts";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

/** The electors begin one after the other over a few renewal intervals, or all in one turn of the event loop. */
export type Start = "spread" | "at-once";

export interface ScaleReport {
  /** In bytes, for electors that lead, with their task and their record. */
  readonly heapPerElector: number;
  readonly rssPerElector: number;
  readonly idleDelay: LoopDelay;
  readonly leadingDelay: LoopDelay;
  readonly renewals: number;
  /** In microseconds of user and system CPU time. */
  readonly cpuPerRenewal: number;
  readonly cpuPerTimedPut: number;
  readonly cpuPerLoopedPut: number;
  readonly lost: number;
  readonly heapLeftPerElector: number;
  readonly timersLeft: number;
}

/** Percentiles of the time between two turns of the event loop, in nanoseconds. */
export interface LoopDelay {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

const LEASE_MS = 15_000;
const RENEW_INTERVAL_MS = LEASE_MS / 3;
/** A whole number of intervals, so that the renewals are spread evenly too. */
const SPREAD_MS = 3 * RENEW_INTERVAL_MS;
const IDLE_MS = 5_000;
const PUTS_MS = 10_000;
const STEADY_MS = 20_000;
const LOOPED_PUTS = 200_000;

/** The memory store, with a count of its requests. */
class CountingRecordStore extends MemoryRecordStore {
  puts = 0;

  override async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    this.puts += 1;
    return await super.put(election, record, options);
  }
}

const count = Number(process.argv[2]);
const start = process.argv[3] as Start;

const idleDelay = await loopDelay(IDLE_MS);
const cpuPerLoopedPut = await loopedPuts();
const cpuPerTimedPut = await timedPuts();
const heapBefore = await heapAfterGc();
const timersBefore = timers();
const leading = await lead();
const heapLeftPerElector = ((await heapAfterGc()) - heapBefore) / count;
const report: ScaleReport = {
  idleDelay,
  cpuPerLoopedPut,
  cpuPerTimedPut,
  ...leading,
  heapLeftPerElector,
  timersLeft: timers() - timersBefore,
};
process.stdout.write(JSON.stringify(report));

async function lead(): Promise<
  Omit<ScaleReport, "idleDelay" | "cpuPerLoopedPut" | "cpuPerTimedPut" | "heapLeftPerElector" | "timersLeft">
> {
  const records = new CountingRecordStore();
  const store = new RecordLeaseStore(records);
  const stopping = new AbortController();
  const heapBase = await heapAfterGc();
  const rssBase = process.memoryUsage.rss();
  let leaders = 0;
  let lost = 0;
  const runs = Array.from({ length: count }, async (_, at) => {
    if (start === "spread") await delay((at / count) * SPREAD_MS);
    const elector = new Elector({ store, election: `bench-${at}`, leaseDurationMs: LEASE_MS });
    elector.on("startedLeading", () => (leaders += 1));
    elector.on("ending", () => (lost += stopping.signal.aborted ? 0 : 1));
    await elector.run(untilAborted, { signal: stopping.signal });
  });
  // All electors lead, and have renewed at least once.
  while (leaders < count) await delay(100);
  await delay(RENEW_INTERVAL_MS);
  const heapPerElector = ((await heapAfterGc()) - heapBase) / count;
  const rssPerElector = (process.memoryUsage.rss() - rssBase) / count;
  const putsBefore = records.puts;
  const cpu = process.cpuUsage();
  const leadingDelay = await loopDelay(STEADY_MS);
  const renewals = records.puts - putsBefore;
  const cpuPerRenewal = micros(cpu) / renewals;
  stopping.abort();
  await Promise.all(runs);
  return { heapPerElector, rssPerElector, leadingDelay, renewals, cpuPerRenewal, lost };
}

async function loopDelay(forMs: number): Promise<LoopDelay> {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  await delay(forMs);
  histogram.disable();
  return { count: histogram.count, p50: histogram.percentile(50), p99: histogram.percentile(99), max: histogram.max };
}

/** Returns the CPU time of a conditional put with a new nonce, and of nothing else. */
async function loopedPuts(): Promise<number> {
  const put = putter();
  for (let puts = 0; puts < LOOPED_PUTS / 10; puts += 1) await put("warm-up");
  const cpu = process.cpuUsage();
  for (let puts = 0; puts < LOOPED_PUTS; puts += 1) await put("bench");
  return micros(cpu) / LOOPED_PUTS;
}

/** The same, but each put by a timer. There are as many as the electors will renew, and as often. */
async function timedPuts(): Promise<number> {
  const put = putter();
  let puts = 0;
  const pending = new Set<NodeJS.Timeout>();
  const again = (election: string, inMs: number): void => {
    const timer = setTimeout(() => {
      pending.delete(timer);
      puts += 1;
      void put(election);
      again(election, RENEW_INTERVAL_MS);
    }, inMs);
    pending.add(timer);
  };
  for (let at = 0; at < count; at += 1) again(`bench-${at}`, (at / count) * RENEW_INTERVAL_MS);
  await delay(RENEW_INTERVAL_MS);
  const cpu = process.cpuUsage();
  const before = puts;
  await delay(PUTS_MS);
  const perPut = micros(cpu) / (puts - before);
  for (const timer of pending) clearTimeout(timer);
  return perPut;
}

function putter(): (election: string) => Promise<void> {
  const records = new MemoryRecordStore();
  const { signal } = new AbortController();
  const versions = new Map<string, string>();
  return async (election) => {
    const nonce = crypto.randomUUID();
    const record: LeaseRecord = {
      schema: 3,
      term: 1,
      termId: "term",
      candidateId: "bench",
      nonce,
      leaseDurationMs: LEASE_MS,
      renewIntervalMs: RENEW_INTERVAL_MS,
    };
    const outcome = await records.put(election, record, { ifVersion: versions.get(election), keepsNonce: false, signal });
    if (!outcome.stored) throw new Error("Nobody else writes, and yet a write was refused.");
    versions.set(election, outcome.version);
  };
}

function micros(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
}
