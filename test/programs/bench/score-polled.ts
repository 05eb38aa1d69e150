import type { StopOptions } from "@leasehold/core";
import { LEASE_MS, PolledElection, RENEW_INTERVAL_MS } from "./polled-election.ts";
import type { Failover, Handover } from "./failover.ts";

/** How long the standby has watched before its polls must be sharp. */
const SHARP_AFTER_MS = 60_000;
/** How long its requests are counted, at least. */
const COUNTED_MS = 600_000;
const HOUR_MS = 3_600_000;

/** Lets the leader crash at a random phase of its renewals, `runs` times, under a virtual clock. */
export async function polledFailovers(runs: number, when: "sharp" | "learning"): Promise<Failover[]> {
  const failovers: Failover[] = [];
  for (let run = 0; run < runs; run += 1) failovers.push(await failover(run + 1, run / runs, 1 / runs, when));
  return failovers;
}

/** A normal stop of a leader whose task takes some time to settle. */
export interface PoliteStop extends StopOptions {
  readonly drainMs: number;
}

/** Lets the leader stop normally at a random phase of its renewals, `runs` times. */
export async function polledHandovers(runs: number, stop: PoliteStop): Promise<Handover[]> {
  const handovers: Handover[] = [];
  for (let run = 0; run < runs; run += 1) handovers.push(await handover(run + 1, stop));
  return handovers;
}

async function handover(seed: number, { drainMs, planned }: PoliteStop): Promise<Handover> {
  const election = new PolledElection(seed);
  const { clock } = election;
  const leader = election.campaign("leader", drainMs);
  await clock.runUntil(leader.leads);
  await clock.advance(clock.random() * RENEW_INTERVAL_MS);
  const standby = election.campaign("standby");
  await clock.advance(SHARP_AFTER_MS);
  const sentBefore = standby.records.sent;
  const countedMs = COUNTED_MS + clock.random() * RENEW_INTERVAL_MS;
  await clock.advance(countedMs);
  const sent = standby.records.sent - sentBefore;

  const stopFromMs = clock.monotonicMs();
  await leader.stop({ planned });
  const stopMs = clock.monotonicMs() - stopFromMs;
  const [leftMs, leadsMs] = await Promise.all([leader.left, clock.runUntil(standby.leads)]);
  await standby.stop();
  return { vacantMs: leadsMs - leftMs, stopMs, requestsPerHour: (sent / countedMs) * HOUR_MS };
}

async function failover(seed: number, from: number, width: number, when: "sharp" | "learning"): Promise<Failover> {
  const election = new PolledElection(seed);
  const { clock } = election;
  const leader = election.campaign("leader");
  const grantedMs = await clock.runUntil(leader.leads);
  // The phases of leader and standby are independent.
  await clock.advance(clock.random() * RENEW_INTERVAL_MS);
  const standby = election.campaign("standby");

  await clock.advance(when === "sharp" ? SHARP_AFTER_MS : 0);
  const sharpMs = clock.monotonicMs();
  const sentBefore = standby.records.sent;
  const earliestMs = sharpMs + (when === "sharp" ? COUNTED_MS : clock.random() * SHARP_AFTER_MS);
  // The phases of all runs together cover the renewal interval evenly.
  const phaseMs = (from + clock.random() * width) * RENEW_INTERVAL_MS;
  const intoIntervalMs = (earliestMs - grantedMs) % RENEW_INTERVAL_MS;
  await clock.advance(earliestMs - sharpMs + ((phaseMs - intoIntervalMs + RENEW_INTERVAL_MS) % RENEW_INTERVAL_MS));
  const sent = standby.records.sent - sentBefore;
  const countedMs = clock.monotonicMs() - sharpMs;
  leader.records.cut();

  const leadsMs = await clock.runUntil(standby.leads);
  const renewal = leader.records.applied.findLast(({ operation }) => operation === "put")!;
  const gets = standby.records.applied.filter(({ operation }) => operation === "get");
  const firstSight = gets.find(({ nonce }) => nonce === renewal.nonce)!;
  const deciding = gets.at(-1)!;
  await standby.stop();
  const expiredMs = renewal.sentMs + LEASE_MS;
  return {
    extraMs: leadsMs - expiredMs,
    requestsPerHour: (sent / countedMs) * HOUR_MS,
    parts: {
      "first sight of the last renewal, after its send": firstSight.answeredMs! - renewal.sentMs,
      "deciding look, after first sight + lease": deciding.sentMs - (firstSight.answeredMs! + LEASE_MS),
      "that look, and the acquisition": leadsMs - deciding.sentMs,
    },
  };
}
