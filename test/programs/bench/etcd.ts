import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { etcdMissing, requestsAt, startEtcd, type Etcd } from "@leasehold/test-kit/backends/etcd";
import { startTcpFaultProxy, type TcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";
import type { CandidateRequests, Competitor } from "./peers/contender.ts";
import { contenderOf, type ContenderName } from "./peers/contenders.ts";
import type { Result, Section } from "./section.ts";
import { summarize } from "./statistics.ts";

/** The network's delay in each direction. Round trips then matter, and the speed of this machine does not. */
const ONE_WAY_MS = 25;
const HANDOVERS = 10;
const LEASE_MS = 6_000;
const CROWD = 200;
/** Long enough that hardly any renewal falls into the time in which the crowd is counted. */
const CROWD_LEASE_MS = 600_000;
const CROWD_DEATHS = 5;
/** Longer than a takeover and the failed attempts after it. */
const SETTLED_MS = 500;

export const etcd: Section = {
  name: "etcd",
  about: "polite hand-overs of queued elections on etcd, and what a crowd asks then, beside npm's etcd3",
  meaning:
    "A hand-over is the way of a release to etcd, its push, and what the next leader asks to be sure of its turn. Requests are " +
    "counted by etcd, a keep-alive as one. Crashes, and the requests of an hour, are in the section 'peers'.",
  takesS: 30,
  async measure() {
    const missing = await etcdMissing();
    if (missing !== undefined) throw new Error(missing);
    await using member = await startEtcd();
    const results: Result[] = [];
    for (const measure of [handovers, crowds]) {
      for (const library of ["leasehold-etcd", "etcd3"] as const) results.push(await measure(member, library));
    }
    return results;
  },
};

/** Measures a leader that stops, and a standby. */
async function handovers(member: Etcd, library: ContenderName): Promise<Result> {
  await using end = new AsyncDisposableStack();
  const election = `bench-${randomUUID()}`;
  const campaign = async (): Promise<Waiting> => {
    const proxy = end.use(await startTcpFaultProxy(member.port));
    return new Waiting(await connect(library, proxy.host, LEASE_MS, end), election, proxy);
  };
  let leader = await campaign();
  await leader.leads;
  const roundTrips: number[] = [];
  for (let turn = 0; turn < HANDOVERS; turn += 1) {
    const standby = await campaign();
    await delay(SETTLED_MS);
    for (const { proxy } of [leader, standby]) proxy?.delay(ONE_WAY_MS);
    const fromMs = performance.now();
    const [leadsMs] = await Promise.all([standby.leads, leader.stop()]);
    roundTrips.push((leadsMs - fromMs) / (2 * ONE_WAY_MS));
    standby.proxy?.heal();
    leader = standby;
  }
  await leader.stop();
  return { measure: `${library}: polite hand-over`, unit: "round trips", goal: 5, ...summarize(roundTrips) };
}

/** Counts the requests to etcd after the leader of a waiting crowd stops, until no more come. */
async function crowds(member: Etcd, library: ContenderName): Promise<Result> {
  await using end = new AsyncDisposableStack();
  const competitor = await connect(library, `127.0.0.1:${member.port}`, CROWD_LEASE_MS, end);
  const election = `bench-${randomUUID()}`;
  const waiting = new Set(Array.from({ length: CROWD }, () => new Waiting(competitor, election)));
  let leader = await firstOf(waiting);
  // Until all of them have a queue position, and wait.
  for (let before = -1, now = 0; now !== before;) {
    await delay(2 * SETTLED_MS);
    [before, now] = [now, await asked(member)];
  }
  const requests: number[] = [];
  for (let turn = 0; turn < CROWD_DEATHS; turn += 1) {
    const before = await asked(member);
    waiting.delete(leader);
    [leader] = await Promise.all([firstOf(waiting), leader.stop()]);
    await delay(SETTLED_MS);
    requests.push((await asked(member)) - before);
  }
  await Promise.all(Array.from(waiting, async (each) => each.stop()));
  return { measure: `${library}: hand-over among ${CROWD}`, unit: "requests of all", ...summarize(requests) };
}

async function connect(library: ContenderName, host: string, leaseMs: number, end: AsyncDisposableStack): Promise<Competitor> {
  const adapter = await contenderOf(library).load();
  const competitor = await adapter.connect(host, leaseMs);
  end.defer(() => competitor.close());
  return competitor;
}

/** A candidate in this process. */
class Waiting {
  readonly proxy: TcpFaultProxy | undefined;
  /** Resolves when it starts to lead, with the time of `performance.now()`. */
  readonly leads: Promise<number>;
  readonly #candidacy: CandidateRequests;

  constructor(competitor: Competitor, election: string, proxy?: TcpFaultProxy) {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.leads = promise;
    this.proxy = proxy;
    this.#candidacy = competitor.campaign(election, () => this.#candidacy.leads() && resolve(performance.now()));
  }

  async stop(): Promise<void> {
    await this.#candidacy.stop();
  }
}

async function firstOf(candidates: ReadonlySet<Waiting>): Promise<Waiting> {
  return await Promise.race(Array.from(candidates, async (candidate) => candidate.leads.then(() => candidate)));
}

async function asked(member: Etcd): Promise<number> {
  return [...(await requestsAt(member)).values()].reduce((sum, count) => sum + count, 0);
}
