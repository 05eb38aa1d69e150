import { setTimeout as delay } from "node:timers/promises";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import type { Crew, Member } from "./processes.ts";

/** The result of one fault for a crew. Times are in milliseconds. */
export interface Episode {
  /** The time from the fault to another leader, or from the end of an outage to any leader; absent if there was none in time. */
  readonly takeoverMs?: number;
  /** The same time from the last request that the leader had sent before. */
  readonly sinceRenewalMs?: number;
  /** For how long two running processes believed that they led. */
  readonly overlapMs: number;
  /** The time from the fault to the last time that the old leader believed that it led; absent if it never gave up. */
  readonly gaveUpMs?: number;
  /** True if the old leader's first answer after it had stood still was that it leads. */
  readonly believedFirst?: boolean;
}

/** How long a leader is away, in leases. Each library replaces it sooner. */
export const AWAY_LEASES = 2.5;
const OUTAGE_LEASES = 2;
/** The longest wait for a new leader, in leases. A library that needs longer counts as one that finds none. */
const PATIENCE_LEASES = 3;
/** The wait for the last lines after a fault has ended, in leases. */
const AFTERWARDS_LEASES = 0.5;

type Play = (crew: Crew, leader: Member, leaseMs: number) => Promise<Episode>;

/** The faults, in the order in which they are applied. */
export const FAULTS = {
  stop: {
    title: "polite stop",
    async play(crew, leader, leaseMs) {
      const fromMs = hostMs();
      leader.tell({ kind: "stop" });
      const episode = await replaced(crew, leader, fromMs, PATIENCE_LEASES * leaseMs);
      await leader.said("stopped", fromMs);
      leader.tell({ kind: "campaign" });
      return { ...episode, overlapMs: crew.overlapMs(fromMs) };
    },
  },
  crash: {
    title: "crash (SIGKILL)",
    async play(crew, leader, leaseMs) {
      const [fromMs, renewedMs] = [hostMs(), leader.requestMs];
      await leader.kill();
      const episode = await replaced(crew, leader, fromMs, PATIENCE_LEASES * leaseMs);
      await crew.join();
      const sinceRenewal = episode.takeoverMs === undefined ? {} : { sinceRenewalMs: episode.takeoverMs + fromMs - renewedMs };
      return { ...episode, ...sinceRenewal, overlapMs: crew.overlapMs(fromMs) };
    },
  },
  freeze: {
    title: "frozen (SIGSTOP)",
    async play(crew, leader, leaseMs) {
      const fromMs = hostMs();
      await leader.freeze();
      const episode = await whileAway(crew, leader, fromMs, leaseMs);
      leader.thaw();
      const { leads } = await leader.said("thawed", fromMs);
      await delay(AFTERWARDS_LEASES * leaseMs);
      return { ...episode, overlapMs: crew.overlapMs(fromMs), believedFirst: leads };
    },
  },
  block: {
    title: "blocked event loop",
    async play(crew, leader, leaseMs) {
      const fromMs = hostMs();
      leader.tell({ kind: "block", ms: AWAY_LEASES * leaseMs });
      const episode = await whileAway(crew, leader, fromMs, leaseMs);
      await delay(AFTERWARDS_LEASES * leaseMs);
      return { ...episode, ...gaveUp(leader, fromMs), overlapMs: crew.overlapMs(fromMs) };
    },
  },
  cut: {
    title: "cut off alone",
    async play(crew, leader, leaseMs) {
      const fromMs = hostMs();
      leader.proxy.loseRequests();
      leader.proxy.loseReplies();
      const episode = await whileAway(crew, leader, fromMs, leaseMs);
      leader.proxy.heal();
      await delay(AFTERWARDS_LEASES * leaseMs);
      return { ...episode, ...gaveUp(leader, fromMs), overlapMs: crew.overlapMs(fromMs) };
    },
  },
  outage: {
    title: "store out of reach for all",
    async play(crew, leader, leaseMs) {
      const fromMs = hostMs();
      for (const { proxy } of crew.members) proxy.cut();
      await delay(OUTAGE_LEASES * leaseMs);
      const given = gaveUp(leader, fromMs);
      const returnMs = hostMs();
      for (const { proxy } of crew.members) proxy.heal();
      const episode = await replaced(crew, undefined, returnMs, PATIENCE_LEASES * leaseMs);
      await delay(AFTERWARDS_LEASES * leaseMs);
      return { ...episode, ...given, overlapMs: crew.overlapMs(fromMs) };
    },
  },
} as const satisfies Record<string, { readonly title: string; readonly play: Play }>;

export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES: readonly FaultName[] = Object.keys(FAULTS) as FaultName[];

/** Waits for the end of the leader's absence. Returns the time until another leader came, if one came. */
async function whileAway(crew: Crew, leader: Member, fromMs: number, leaseMs: number): Promise<Pick<Episode, "takeoverMs">> {
  const untilMs = fromMs + AWAY_LEASES * leaseMs;
  const episode = await replaced(crew, leader, fromMs, untilMs - hostMs());
  await delay(Math.max(0, untilMs - hostMs()));
  return episode;
}

/** @param leader the one to be replaced; without one, any process may lead */
async function replaced(
  crew: Crew,
  leader: Member | undefined,
  fromMs: number,
  withinMs: number,
): Promise<Pick<Episode, "takeoverMs">> {
  const next = await crew.otherLeader(leader, withinMs);
  const spell = next?.spells().at(-1);
  return spell === undefined ? {} : { takeoverMs: Math.max(0, spell.fromMs - fromMs) };
}

/** Returns the end of the last spell that began before, if it is over. */
function gaveUp(leader: Member, fromMs: number): Pick<Episode, "gaveUpMs"> {
  const spell = leader.spells().findLast((each) => each.fromMs <= fromMs);
  return spell === undefined || spell.toMs === Number.POSITIVE_INFINITY ? {} : { gaveUpMs: spell.toMs - fromMs };
}
