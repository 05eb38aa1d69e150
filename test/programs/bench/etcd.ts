import { setTimeout as delay } from "node:timers/promises";
import { etcdMissing, requestsAt, startEtcd, type Etcd } from "@leasehold/test-kit/backends/etcd";
import { LIBRARIES, QueuedElection, type Library, type QueuedCandidate } from "./etcd-candidates.ts";
import type { Result, Section } from "./section.ts";
import { summarize } from "./statistics.ts";

/** What the network takes in each direction, so that round trips count and this machine does not. */
const ONE_WAY_MS = 25;
const HANDOVERS = 10;
const LEASE_MS = 6_000;
const CRASHES = 12;
/** etcd ends leases that are over twice a second. */
const SERVER_MS = 500;
const CROWD = 200;
/** So long that hardly anybody renews while the crowd is counted. */
const CROWD_LEASE_MS = 600_000;
const CROWD_DEATHS = 5;
/** Longer than the takeover, for whoever asks in vain after it. */
const SETTLED_MS = 500;
const STANDBYS = 20;
const STANDBY_LEASE_MS = 15_000;
const COUNTED_MS = 30_000;
const HOUR_MS = 3_600_000;

export const etcd: Section = {
  name: "etcd",
  about: `takeovers and requests of queued elections on etcd, beside npm's etcd3`,
  meaning:
    "A hand-over is the way of a release to etcd, its push, and what the next leader asks to be sure of its turn. etcd itself " +
    "ends a lease up to half a second late. Requests are counted by etcd, a keep-alive as one.",
  takesS: 240,
  async measure() {
    const missing = await etcdMissing();
    if (missing !== undefined) throw new Error(missing);
    await using member = await startEtcd();
    const results: Result[] = [];
    for (const measure of [handovers, crashes, crowds, standingBy]) {
      for (const library of LIBRARIES) results.push(...(await measure(member, library)));
    }
    return results;
  },
};

/** A leader that gives up, and one that waits. */
async function handovers(member: Etcd, library: Library): Promise<Result[]> {
  await using election = new QueuedElection(member, library, LEASE_MS);
  let leader = await election.campaign();
  await leader.leads;
  const roundTrips: number[] = [];
  for (let turn = 0; turn < HANDOVERS; turn += 1) {
    const standby = await election.campaign();
    await delay(SETTLED_MS);
    for (const { proxy } of [leader, standby]) proxy.delay(ONE_WAY_MS);
    const fromMs = performance.now();
    const [leadsMs] = await Promise.all([standby.leads, leader.stop()]);
    roundTrips.push((leadsMs - fromMs) / (2 * ONE_WAY_MS));
    standby.proxy.heal();
    leader = standby;
  }
  return [{ measure: `${library}: polite hand-over`, unit: "round trips", goal: 5, ...summarize(roundTrips) }];
}

/** Leaders that are cut off, each at a phase of its renewals of its own. */
async function crashes(member: Etcd, library: Library): Promise<Result[]> {
  const tookLeases = await Promise.all(
    Array.from({ length: CRASHES }, async (_, at) => {
      await using election = new QueuedElection(member, library, LEASE_MS);
      const leader = await election.campaign();
      await leader.leads;
      const standby = await election.campaign();
      await delay(LEASE_MS / 3 + ((at + Math.random()) / CRASHES) * (LEASE_MS / 3));
      leader.proxy.loseRequests();
      leader.proxy.loseReplies();
      return ((await standby.leads) - leader.keptAliveMs) / LEASE_MS;
    }),
  );
  const goal = 1.05 + SERVER_MS / LEASE_MS;
  return [
    { measure: `${library}: takeover after a crash, from the last keep-alive`, unit: "leases", goal, ...summarize(tookLeases) },
  ];
}

/** A crowd that waits, whose leader gives up: what etcd is asked until all is quiet again. */
async function crowds(member: Etcd, library: Library): Promise<Result[]> {
  await using election = new QueuedElection(member, library, CROWD_LEASE_MS, { isCrowd: true });
  const waiting = new Set<QueuedCandidate>();
  for (let place = 0; place < CROWD; place += 1) waiting.add(await election.campaign());
  let leader = await firstOf(waiting);
  // Until all of them have a place, and wait.
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
  return [{ measure: `${library}: hand-over among ${CROWD}`, unit: "requests of all", ...summarize(requests) }];
}

async function firstOf(candidates: ReadonlySet<QueuedCandidate>): Promise<QueuedCandidate> {
  return await Promise.race(Array.from(candidates, async (candidate) => candidate.leads.then(() => candidate)));
}

/** What it costs to wait for one's turn. */
async function standingBy(member: Etcd, library: Library): Promise<Result[]> {
  await using election = new QueuedElection(member, library, STANDBY_LEASE_MS, { isCrowd: true });
  const leader = await election.campaign();
  await leader.leads;
  await delay(STANDBY_LEASE_MS / 2);
  const rate = async (): Promise<number> => {
    const [before, fromMs] = [await asked(member), performance.now()];
    await delay(COUNTED_MS);
    return (((await asked(member)) - before) / (performance.now() - fromMs)) * HOUR_MS;
  };
  const ofLeader = await rate();
  for (let place = 0; place < STANDBYS; place += 1) await election.campaign();
  await delay(STANDBY_LEASE_MS / 2);
  const each = ((await rate()) - ofLeader) / STANDBYS;
  return [
    { measure: `${library}: leader, lease of 15 s`, unit: "requests/h", ...summarize([ofLeader]) },
    { measure: `${library}: each of ${STANDBYS} that wait`, unit: "requests/h", ...summarize([each]) },
  ];
}

async function asked(member: Etcd): Promise<number> {
  return [...(await requestsAt(member)).values()].reduce((sum, count) => sum + count, 0);
}
