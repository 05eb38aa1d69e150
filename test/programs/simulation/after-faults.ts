import type { Elector } from "@leasehold/core";
import type { CandidatePlan } from "./candidate-plan.ts";
import { LAST_ARRIVALS_MS, RETRY_AFTER_LEASES } from "./network.ts";
import { LONGEST_TASK_STEP_LEASES, type Candidate } from "./candidate.ts";
import type { Mishap } from "./faults/faults.ts";
import { NOBODY } from "./orders.ts";
import type { SimulatedProcess } from "./process.ts";
import { FASTEST_RATE, SLOWEST_RATE } from "./stores/simulated-store.ts";
import { Violation, type Invariant } from "./violation.ts";
import type { World } from "./world.ts";

/** The wait of a broken watch before it begins again. */
const WATCH_AGAIN_MS = 1_000;
/** The time for which a leader has to keep its term once all faults have ended, in leases. */
const STAYS_LEASES = 0.8;
/** The most requests of a poll. A poll is repeated if a push overtakes its answer, or to confirm a store's clock. */
const REQUESTS_A_LOOK = 2;
/** The number of polls that a standby may send at once, after fewer before. */
const LOOKS_AT_ONCE = 11;

/** Checks that a candidate leads within the promised time after the last fault, and goes on leading. */
export async function seeRecovery(world: World): Promise<void> {
  const { referee, leaseMs } = world;
  const { calmAtMs, mishaps } = world.plan;
  const deadlineMs = calmAtMs + recoveryMs(world);
  // An earlier fault may cost a leader its term for as long as a lease.
  await world.until(() => false, calmAtMs + leaseMs / SLOWEST_RATE);
  await world.until(() => referee.leader !== undefined, deadlineMs);
  const afterMs = Math.round(deadlineMs - calmAtMs);
  if (!referee.leader) fail("leader-returns", `nobody leads ${afterMs} ms after the last fault`);
  // An administrator's order may still be on its way.
  if (mishaps.some(isOrder)) await world.until(() => false, deadlineMs);
  const { leader } = referee;
  if (!leader) fail("leader-returns", `nobody leads any more ${afterMs} ms after the last fault`);
  const { candidate, leadership } = leader;
  const standbys = standbysAlone(world, candidate);
  const fromMs = world.nowMs;
  await world.until(() => leadership.signal.aborted, world.nowMs + STAYS_LEASES * leaseMs);
  if (leadership.signal.aborted) {
    fail("leader-stays", `${candidate.id} lost term ${leadership.term}: ${String(leadership.signal.reason)}`);
  }
  standbys.forEach((standby) => seeFewRequests(world, standby, world.nowMs - fromMs));
  seeEveryoneLook(world);
  // If a push lost the term, an observer polls by itself, once in the longest lease.
  const longestMs = Math.max(...world.seated.map(({ plan: { leaseDurationMs } }) => leaseDurationMs));
  await world.until(() => !whoSeesAnother(world, leadership.term), referee.grantedMs + (1.1 * longestMs) / SLOWEST_RATE);
  // A lodger may have to wait for a lease of its own. The promise is the same.
  await world.until(() => idleLodger(world) === undefined, deadlineMs);
  seeBystanders(world, leadership.term);
}

/**
 * Returns the time that `timing()` promises from the last renewal on, by the slowest clock. Adds what may be pending when the
 * calm begins.
 */
function recoveryMs(world: World): number {
  const { plan, leaseMs, seated, orders } = world;
  // A transfer to nobody is broken in the calm.
  const reserved = plan.mishaps.map((mishap) => (mishap.kind === "transfer" && mishap.to !== NOBODY ? mishap.timeoutMs : 0));
  const promised = seated.map(({ elector: { timing } }) => {
    const { crashFailoverMs, leaseDurationMs, retryPeriodMs, attemptTimeoutMs, cooldownMs } = timing;
    // The promise counts from the lease of the last leader.
    const lastLeaseMs = leaseMs - leaseDurationMs;
    return crashFailoverMs + lastLeaseMs + Math.max(retryPeriodMs, 3 * attemptTimeoutMs, cooldownMs);
  });
  const backsOffMs = plan.mishaps.map((mishap) => (mishap.kind === "outage" ? mishap.backsOffMs : 0));
  const pendingMs = Math.max(RETRY_AFTER_LEASES * leaseMs, WATCH_AGAIN_MS, ...backsOffMs) + LONGEST_TASK_STEP_LEASES * leaseMs;
  // An earlier order may still be carried out.
  const orderMs = plan.mishaps.some(isOrder) ? orders.lastMs : 0;
  const barredMs = orderMs + Math.max(0, ...reserved, ...seated.map((candidate) => barsForMs(candidate.plan)));
  return LAST_ARRIVALS_MS + withLateMs(world, Math.max(...promised) + pendingMs + barredMs);
}

function isOrder({ kind }: Mishap): boolean {
  return kind === "break" || kind === "transfer";
}

/** Returns the time for which a candidate's options may block others after it has released its lease. */
export function barsForMs({ minimumHoldMs, reservation }: CandidatePlan): number {
  return Math.max(minimumHoldMs, reservation?.durationMs ?? 0);
}

/** A standby, and the number of requests of its process at first. */
interface Standby {
  readonly candidate: Candidate;
  readonly askedBefore: number;
}

/** Returns the standbys that have a process of their own, so that all of its requests are theirs. */
function standbysAlone(world: World, leader: Candidate): Standby[] {
  const isAlone = ({ process }: Candidate): boolean =>
    [...world.everyone].filter((other) => other.process === process).length === 1 && process.bystanders.stopped;
  const standbys = world.seated.filter((candidate) => candidate !== leader && candidate.competes && isAlone(candidate));
  return standbys.map((candidate) => ({ candidate, askedBefore: candidate.process.asked }));
}

/** Checks that nothing the leader publishes makes a standby send more requests than its own options allow. */
function seeFewRequests(world: World, { candidate, askedBefore }: Standby, forMs: number): void {
  const { renewIntervalMs, retryPeriodMs } = candidate.elector.timing;
  const everyMs = renewIntervalMs / (Math.ceil(renewIntervalMs / retryPeriodMs) + 1);
  const asked = candidate.process.asked - askedBefore;
  const most = REQUESTS_A_LOOK * (world.store.members?.count ?? 1) * (LOOKS_AT_ONCE + (forMs * FASTEST_RATE) / everyMs);
  if (asked > most) fail("standbys-are-cheap", `${candidate.id} asks ${asked} times in ${Math.round(forMs)} ms`);
}

function seeEveryoneLook({ plan, seated, leaseMs }: World): void {
  // A voting server gets every renewal by a message, and a standby sends no requests.
  if (plan.store === "voting") return;
  for (const candidate of seated) {
    if (!candidate.competes) continue;
    const { retryPeriodMs, attemptTimeoutMs } = candidate.elector.timing;
    const quietMs = 1.1 * leaseMs + retryPeriodMs + 2 * attemptTimeoutMs;
    const silentMs = candidate.process.clock.monotonicMs() - candidate.process.lastRequestMs;
    if (silentMs > quietMs) fail("nobody-is-stuck", `${candidate.id} has sent nothing for ${Math.round(silentMs)} ms`);
  }
}

/** Returns an elector that is alone in its election, and does not lead it. */
function idleLodger(world: World): Elector | undefined {
  const alive = [...world.processes].filter(({ clock }) => clock.alive);
  return alive.map(({ bystanders }) => bystanders.lodger).find((lodger) => lodger && !lodger.isLeader);
}

/**
 * Checks the other electors and observers that share a store object with a candidate. An elector that is alone in an election
 * leads it, and observers see the leader.
 */
function seeBystanders(world: World, term: number): void {
  const idle = idleLodger(world);
  if (idle) fail("lodger-leads", `nobody leads '${idle.election}'`);
  const other = whoSeesAnother(world, term);
  if (!other) return;
  const { id, bystanders } = other;
  fail("observer-sees", `the observer with ${id} sees term ${bystanders.seen?.leader?.term ?? "none"}, and it is ${term}`);
}

function whoSeesAnother({ processes }: World, term: number): SimulatedProcess | undefined {
  return [...processes].find(
    ({ clock, bystanders: { seen } }) => clock.alive && seen !== undefined && seen.leader?.term !== term,
  );
}

/** The share of cases in which the others are refused for a while before a leader dies. */
const REFUSED = 0.3;

/** The share of cases in which no watch reports a leader's death, or its release. */
const STALLED = 0.3;

/** Refuses all processes but the leader's for the time of a renewal. The leader renews once more. After that nothing is wrong. */
async function seeRefusals(world: World, leader: Candidate, others: readonly Candidate[]): Promise<void> {
  const forMs = leader.elector.timing.renewIntervalMs;
  world.note("world", `all but ${leader.id} are refused for ${Math.round(forMs)} ms`);
  for (const { process } of others) process.link.refuse(forMs);
  await world.until(() => false, world.nowMs + forMs);
  let hasRenewed = false;
  leader.elector.on("renewed", () => (hasRenewed = true));
  await world.until(() => hasRenewed, world.nowMs + (1.5 * world.leaseMs) / SLOWEST_RATE);
}

/** Checks that a leader that stops or dies is succeeded in the time that `timing()` gives for this, with no other fault. */
export async function seeSuccession(world: World): Promise<void> {
  const { referee, random, leaseMs } = world;
  const leader = referee.leader?.candidate;
  const dies = random.chance(0.5);
  // All candidates in a process die with it.
  const survives = (other: Candidate): boolean => (dies ? other.process !== leader?.process : other !== leader);
  const others = world.seated.filter((candidate) => survives(candidate) && candidate.competes);
  if (!leader || others.length === 0 || (!dies && !leader.releases)) return;
  if (dies && random.chance(REFUSED)) await seeRefusals(world, leader, others);
  world.note(leader.id, dies ? "crashes, while all is calm" : "is told to stop, while all is calm");
  if (dies && world.store.faults && random.chance(STALLED)) world.store.faults.stall();
  if (random.chance(STALLED)) for (const link of world.links) link.silence();
  if (dies) leader.clock.kill();
  else {
    tellToStop(leader);
    // The task's time to drain is added.
    await world.until(() => leader.pending === 0, world.nowMs + (LONGEST_TASK_STEP_LEASES * leaseMs) / SLOWEST_RATE);
  }
  // In a queue, a candidate that died with the leader may stand before the others, for as long as its own lease.
  const gone = world.store.faults && dies ? world.seated.filter((other) => other.process === leader.process) : [leader];
  const led = gone.map(({ elector }) => elector.timing).toSorted((one, other) => other.leaseDurationMs - one.leaseDurationMs)[0]!;
  // The next poll finds a release whose push is lost. It comes at the interval of the leader's renewals, or at the standby's own
  // if that is longer.
  const isPushed = leader.process.access.store.capabilities.watch === "push";
  // The time follows from the leader's lease and renewals, and from the others' polls and requests.
  const promised = others.map(({ elector: { timing } }) =>
    dies
      ? Math.max(led.crashFailoverMs, timing.crashFailoverMs - timing.leaseDurationMs + led.leaseDurationMs)
      : timing.politeHandoverMs + timing.cooldownMs + (isPushed ? Math.max(led.renewIntervalMs, timing.retryPeriodMs) : 0),
  );
  // A successor may have to wait for the end of the hold, or of a group's reservation.
  const barredMs = barsForMs(leader.plan);
  const turnMs = barredMs > 0 ? barredMs + Math.max(...others.map(({ elector: { timing } }) => timing.retryPeriodMs)) : 0;
  // If few members of a quorum have a renewal when the leader dies, the next candidate completes it, and it counts from then.
  const completedMs = dies && world.plan.store === "quorum" ? led.leaseDurationMs : 0;
  const fromMs = world.nowMs;
  const isSucceeded = (): boolean => (referee.leader?.candidate ?? leader) !== leader;
  await world.until(isSucceeded, fromMs + withLateMs(world, Math.max(...promised) + completedMs + turnMs));
  if (isSucceeded()) return;
  const afterMs = Math.round(world.nowMs - fromMs);
  fail("leader-returns", `nobody has succeeded ${leader.id} ${afterMs} ms after its ${dies ? "crash" : "stop"}`);
}

/** Stops all candidates, the leader first, and checks that the lease is free in the end. */
export async function seeEnd(world: World): Promise<void> {
  const running = [...world.everyone].filter(({ clock, stopped }) => clock.alive && !stopped);
  const leader = world.referee.leader?.candidate;
  world.note("world", "everybody is told to stop, the leader first");
  if (leader) tellToStop(leader);
  // The others are about to take over, or to try.
  await world.until(() => false, world.nowMs + world.random.next() * 1.5 * world.plan.timing.retryPeriodMs);
  const bystanders = [...world.processes].filter(({ clock }) => clock.alive).map((process) => process.bystanders);
  running.forEach(tellToStop);
  bystanders.forEach((each) => each.stop());
  const haveStopped = (): boolean => [...running, ...bystanders].every(({ stopped }) => stopped);
  await world.until(haveStopped, world.nowMs + world.leaseMs / SLOWEST_RATE);
  const left = running.find(({ stopped }) => !stopped);
  if (left) fail("all-stop", `${left.id} still runs, with ${left.pending} tasks pending`);
  if (!haveStopped()) fail("all-stop", "an observer, or an elector of another election, still runs");
  // In a queue the places of dead candidates stay until their leases have expired.
  const someDied = [...world.everyone].some(({ clock }) => !clock.alive);
  if (world.store.faults && someDied) await world.until(() => !world.store.held, world.nowMs + withLateMs(world, world.leaseMs));
  if (running.every(({ releases }) => releases) && world.store.held) fail("all-stop", "the lease was not released");
}

/** Returns a time by the slowest clock, plus the delay with which the service may find that it has passed. */
function withLateMs({ store }: World, ms: number): number {
  return ms / SLOWEST_RATE + (store.faults?.foundLateMs ?? 0);
}

export function tellToStop(candidate: Candidate): void {
  candidate.told = true;
  candidate.stopping.abort(new Error("told to stop"));
}

export function fail(invariant: Invariant, what: string): never {
  throw new Violation(invariant, what);
}
