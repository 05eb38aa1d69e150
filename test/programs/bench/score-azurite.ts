import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { startAzurite } from "@leasehold/test-kit/backends/azurite";
import { AzuriteElection } from "./azurite-election.ts";
import type { Failover } from "./failover.ts";

const LEASE_MS = 15_000;
const RENEW_INTERVAL_MS = LEASE_MS / 3;
/** By then the leader has published its grid, and both candidates have learned the service's clock. */
const SHARP_AFTER_MS = 25_000;
const COUNTED_MS = 45_000;
const HOUR_MS = 3_600_000;

/** Lets the leaders of several elections crash in real time, each at a random phase of its renewals. */
export async function azuriteFailovers(elections: number): Promise<Failover[]> {
  await using azurite = await startAzurite();
  return await Promise.all(
    Array.from({ length: elections }, async (_, at) => {
      // Elections that start together would also renew together.
      await delay(at * 700);
      return await failover(azurite.url, (at + Math.random()) / elections);
    }),
  );
}

async function failover(url: string, phase: number): Promise<Failover> {
  await using election = new AzuriteElection(url, LEASE_MS);
  const leader = await election.campaign();
  const leadsFromMs = await leader.leads;
  await delay(Math.random() * RENEW_INTERVAL_MS);
  const standby = await election.campaign();
  await delay(SHARP_AFTER_MS);

  standby.proxy.clear();
  const fromMs = performance.now();
  const intoIntervalMs = (fromMs + COUNTED_MS - leadsFromMs) % RENEW_INTERVAL_MS;
  await delay(COUNTED_MS + ((phase * RENEW_INTERVAL_MS - intoIntervalMs + RENEW_INTERVAL_MS) % RENEW_INTERVAL_MS));
  const countedMs = performance.now() - fromMs;
  const sent = standby.proxy.requests.length;
  leader.proxy.partition(true);

  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const leadsMs = await standby.leads;
  loop.disable();
  const renewal = leader.proxy.requests.findLast(
    ({ name, deliveries }) => name === "lease:renew" && deliveries[0]?.status === 200,
  )!;
  const expiredMs = renewal.receivedMs + LEASE_MS;
  const late = standby.proxy.requests.filter(({ receivedMs }) => receivedMs > expiredMs);
  const acquisition = late.find(({ name }) => name === "lease:acquire")!;
  const deciding = late.findLast(({ name, receivedMs }) => name === "head" && receivedMs < acquisition.receivedMs)!;
  return {
    extraMs: leadsMs - expiredMs,
    requestsPerHour: (sent / countedMs) * HOUR_MS,
    parts: {
      "first look after the lease's end": late[0]!.receivedMs - expiredMs,
      "deciding look, after that": deciding.receivedMs - late[0]!.receivedMs,
      "that look, the acquisition, the term": leadsMs - deciding.receivedMs,
      "for comparison: this machine's event-loop delay, p99": loop.percentile(99) / 1e6,
    },
  };
}
