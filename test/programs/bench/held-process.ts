/**
 * A process that holds many leases of one service, which runs in another process, by the service's SDK alone. It prints one
 * {@link HeldReport}. It is an entry point: import nothing but types from here.
 */
import { setTimeout as delay } from "node:timers/promises";
import { heapAfterGc } from "./heap.ts";
import { heldServices, type HeldServiceName } from "./held-services.ts";

export interface HeldReport {
  /** In bytes for each lease, once all are held and were renewed. */
  readonly heapPerLease: number;
  readonly rssPerLease: number;
  /** The time from the start of all at once until each is held. */
  readonly allHeldMs: number;
  /** In microseconds of user and system CPU time. */
  readonly cpuPerRenewal: number;
  readonly renewals: number;
}

/** Leases that are held, and the count of their renewals so far. */
interface Held {
  renewals(): number;
  end(): void;
}

const LEASE_MS = 15_000;
const RENEW_INTERVAL_MS = LEASE_MS / 3;
/** A whole number of renewal intervals. */
const STEADY_MS = 4 * RENEW_INTERVAL_MS;

const [serviceName, url = "", countText] = process.argv.slice(2);
const count = Number(countText);
const service = heldServices[serviceName as HeldServiceName](url);

// Code that is loaded and compiled for the first lease must not count for the others.
(await hold("warm-up", 1)).end();
const heapBase = await heapAfterGc();
const rssBase = process.memoryUsage.rss();
const startMs = performance.now();
const held = await hold("bench", count);
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
};
held.end();
process.stdout.write(JSON.stringify(report), () => process.exit(0));

/** Makes leases at once, and renews them as often as electors do, one after the other. */
async function hold(prefix: string, leases: number): Promise<Held> {
  const sends = await Promise.all(Array.from({ length: leases }, (_, at) => service.bareLease(`${prefix}-${at}`)));
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
    end: () => {
      for (const timer of pending) clearTimeout(timer);
    },
  };
}
