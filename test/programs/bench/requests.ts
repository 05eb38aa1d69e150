import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { MemoryLeaseStore } from "@leasehold/core";
import type { LeaseStore } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import { startAzurite } from "@leasehold/test-kit/backends/azurite";
import { startFaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { containerClient } from "@leasehold/test-kit/backends/fresh-container";
import { AzuriteElection } from "./azurite-election.ts";
import { PolledElection } from "./polled-election.ts";
import { RequestCounter } from "./request-counter.ts";
import type { Result, Section } from "./section.ts";
import { summarize } from "./statistics.ts";
import { LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";

const HOUR_MS = 3_600_000;
const WARM_UP_MS = 25_000;
const COUNTED_MS = 60_000;

export const requests: Section = {
  name: "requests",
  about: "requests to the store, for one step and in an hour of steady state",
  meaning:
    "One request is the least for any step; on a blob a term takes a second one. A leader that renews every 5 s sends 720 " +
    "an hour. Azure's requests are counted on the wire, and the library's own count must agree.",
  takesS: 95,
  async measure() {
    await using azurite = await startAzurite();
    return [
      ...(await memorySteps()),
      ...(await azuriteSteps(azurite.url)),
      ...(await polledHours()),
      ...(await azuriteHours(azurite.url)),
    ];
  },
};

async function memorySteps(): Promise<Result[]> {
  using counter = new RequestCounter();
  const store = new MemoryLeaseStore();
  return await steps("memory", store, () => counter.of("memory"));
}

async function azuriteSteps(url: string): Promise<Result[]> {
  using counter = new RequestCounter();
  await using proxy = await startFaultProxy(url);
  const store = new BlobLeaseStore({ container: containerClient(proxy.url), createContainer: true });
  return await steps("azure-blob", store, () => agreed(counter.of("azure-blob"), proxy.requests.length));
}

/** Counts the requests of each step, several times. The first acquisition of an election also makes the record. */
async function steps(name: string, store: LeaseStore, count: () => number): Promise<Result[]> {
  const counts = new Map<string, number[]>();
  const step = async <T>(what: string, take: () => Promise<T>): Promise<T> => {
    const before = count();
    const result = await take();
    counts.set(what, [...(counts.get(what) ?? []), count() - before]);
    return result;
  };
  const election = `bench-${randomUUID()}`;
  const acquire = (): Promise<Lease> => win(store, { election });
  const first = await step("the first acquisition ever", acquire);
  await store.release(first, LIMITS);
  for (let round = 0; round < 5; round += 1) {
    await step("look of a standby", () => store.read(election, LIMITS));
    const lease = await step("acquire, known vacant", acquire);
    await step("renew", () => store.renew(lease, LIMITS));
    await step("release", () => store.release(lease, LIMITS));
  }
  return [...counts].map(([what, samples]) => ({ measure: `${name}: ${what}`, unit: "requests", ...summarize(samples) }));
}

/** Counts an hour of a leader and two standbys, under a virtual clock. */
async function polledHours(): Promise<Result[]> {
  const leaders: number[] = [];
  const standbys: number[] = [];
  for (let seed = 1; seed <= 5; seed += 1) {
    const election = new PolledElection(seed);
    const { clock } = election;
    const leader = election.campaign("leader");
    await clock.runUntil(leader.leads);
    const others = ["one", "two"].map((name) => election.campaign(name));
    await clock.advance(WARM_UP_MS);
    const all = [leader, ...others];
    const before = all.map(({ records }) => records.sent);
    await clock.advance(HOUR_MS);
    const [ofLeader, ...ofOthers] = all.map(({ records }, at) => records.sent - before[at]!);
    leaders.push(ofLeader!);
    standbys.push(...ofOthers);
  }
  return hours("polled record store, virtual", leaders, standbys);
}

/** Counts a minute of two elections, each with a leader and two standbys, in real time. */
async function azuriteHours(url: string): Promise<Result[]> {
  const measured = await Promise.all(
    [0, 1].map(async () => {
      await using election = new AzuriteElection(url, LEASE_MS);
      const leader = await election.campaign();
      await leader.leads;
      const others = [await election.campaign(), await election.campaign()];
      await delay(WARM_UP_MS);
      const all = [leader, ...others];
      for (const { proxy } of all) proxy.clear();
      await delay(COUNTED_MS);
      return all.map(({ proxy }) => proxy.requests.length * (HOUR_MS / COUNTED_MS));
    }),
  );
  return hours(
    "azure-blob on Azurite",
    measured.map(([leader]) => leader!),
    measured.flatMap(([, ...others]) => others),
  );
}

function hours(store: string, leaders: readonly number[], standbys: readonly number[]): Result[] {
  return [
    { measure: `${store}: leader`, unit: "requests/h", ...summarize(leaders) },
    { measure: `${store}: each of two standbys`, unit: "requests/h", ...summarize(standbys) },
  ];
}

/** @throws if the library publishes another number of requests than were on the wire. */
function agreed(told: number, onTheWire: number): number {
  if (told !== onTheWire) throw new Error(`The library told of ${told} requests, and ${onTheWire} were seen on the wire.`);
  return told;
}
