/**
 * A process that holds many leases of one service, which runs in another process. Electors hold them, or the service's SDK alone.
 * It prints one {@link HeldReport}. It is an entry point: import nothing but types from here.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Elector } from "@leasehold/core";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { heapAfterGc } from "./heap.ts";
import { heldServices, type HeldService, type HeldServiceName } from "./held-services.ts";

/** The holder of the leases: electors, or the SDK alone. */
export type Holder = "electors" | "sdk";

export interface HeldReport {
  /** In bytes for each lease, once all are held and were renewed. */
  readonly heapPerLease: number;
  readonly rssPerLease: number;
  /** The time from the start of all at once until each is held. */
  readonly allHeldMs: number;
  /** In microseconds of user and system CPU time. */
  readonly cpuPerRenewal: number;
  readonly renewals: number;
  readonly lost: number;
}

/** Leases that are held, and the count of their renewals so far. */
interface Held {
  renewals(): number;
  lost(): number;
  end(): Promise<void>;
}

const LEASE_MS = 15_000;
const RENEW_INTERVAL_MS = LEASE_MS / 3;
/** A whole number of renewal intervals. */
const STEADY_MS = 4 * RENEW_INTERVAL_MS;

const [serviceName, url = "", holder, countText] = process.argv.slice(2);
const count = Number(countText);
const service = heldServices[serviceName as HeldServiceName](url);
const hold = holder === "sdk" ? holdBySdk : holdByElectors;

// Code that is loaded and compiled for the first lease must not count for the others.
await (await hold(service, "warm-up", 1)).end();
const heapBase = await heapAfterGc();
const rssBase = process.memoryUsage.rss();
const startMs = performance.now();
const held = await hold(service, "bench", count);
const allHeldMs = performance.now() - startMs;
await delay(RENEW_INTERVAL_MS);
const heapPerLease = ((await heapAfterGc()) - heapBase) / count;
const rssPerLease = (process.memoryUsage.rss() - rssBase) / count;
const before = held.renewals();
const cpu = process.cpuUsage();
await delay(STEADY_MS);
const { user, system } = process.cpuUsage(cpu);
const renewals = held.renewals() - before;
const report: HeldReport = {
  heapPerLease,
  rssPerLease,
  allHeldMs,
  cpuPerRenewal: (user + system) / renewals,
  renewals,
  lost: held.lost(),
};
await held.end();
process.stdout.write(JSON.stringify(report), () => process.exit(0));

/** Starts electors at once. Resolves when all of them lead. */
async function holdByElectors(on: HeldService, prefix: string, leases: number): Promise<Held> {
  const store = on.store();
  const stopping = new AbortController();
  const allLead = Promise.withResolvers<void>();
  let leaders = 0;
  let renewed = 0;
  let lost = 0;
  const runs = Array.from({ length: leases }, async (_, at) => {
    const elector = new Elector({ store, election: `${prefix}-${holder}-${at}`, leaseDurationMs: LEASE_MS });
    elector.on("startedLeading", () => {
      leaders += 1;
      if (leaders === leases) allLead.resolve();
    });
    elector.on("renewed", () => (renewed += 1));
    elector.on("ending", () => (lost += stopping.signal.aborted ? 0 : 1));
    await elector.run(untilAborted, { signal: stopping.signal });
  });
  await Promise.race([allLead.promise, Promise.all(runs)]);
  return {
    renewals: () => renewed,
    lost: () => lost,
    end: async () => {
      stopping.abort();
      await Promise.all(runs);
    },
  };
}

/** Makes leases at once, and renews them as often as electors do, one after the other. */
async function holdBySdk(on: HeldService, prefix: string, leases: number): Promise<Held> {
  const sends = await Promise.all(Array.from({ length: leases }, (_, at) => on.bareLease(`${prefix}-${holder}-${at}`)));
  let renewed = 0;
  const pending = new Set<NodeJS.Timeout>();
  const renewIn = (inMs: number, renew: () => Promise<unknown>): void => {
    const timer = setTimeout(() => {
      pending.delete(timer);
      void renew().then(() => (renewed += 1));
      renewIn(RENEW_INTERVAL_MS, renew);
    }, inMs);
    pending.add(timer);
  };
  for (const [at, renew] of sends.entries()) renewIn((at / leases) * RENEW_INTERVAL_MS, renew);
  return {
    renewals: () => renewed,
    lost: () => 0,
    end: async () => {
      for (const timer of pending) clearTimeout(timer);
      await delay(0);
    },
  };
}
