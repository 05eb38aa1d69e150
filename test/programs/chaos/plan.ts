import { SeededRandom } from "@leasehold/core/testing";
import {
  LINK_FAULTS,
  MEMBER_FAULTS,
  PROCESS_FAULTS,
  SEVERED,
  STORE_FAULTS,
  type FaultKind,
  type LinkFault,
  type MemberFault,
  type ProcessFault,
  type StoreFault,
} from "./faults.ts";

/** A planned fault. Durations are in leases. */
export interface PlannedFault<Kind extends FaultKind = FaultKind> {
  readonly kind: Kind;
  /** The target: the leader of that moment, or a number that selects one of the possible targets. */
  readonly target: "leader" | number;
  /** The time from the beginning of its round. */
  readonly after: number;
  readonly lasts: number;
  /** For how long a slow network holds each piece of data. */
  readonly delay: number;
  /** True if a worker that is started again has another candidateId than before. */
  readonly renames: boolean;
}

/** One round: some faults at about the same time, all of which end. */
export interface PlannedRound {
  /** The time without a fault before the round, in leases. */
  readonly calm: number;
  /** The fault of a process. */
  readonly process?: PlannedFault<ProcessFault>;
  /** The fault of a worker's connections, or of the store. */
  readonly network?: PlannedFault<LinkFault | StoreFault | typeof SEVERED>;
  /** The fault of one of several stores. No fault of all stores comes at the same time. */
  readonly member?: PlannedFault<MemberFault>;
}

export interface PlanOptions {
  readonly rounds: number;
  /** True if workers reach the store through a network. */
  readonly isNetworked: boolean;
  /** True if several stores hold the leases together. */
  readonly hasMembers?: boolean;
}

/** How long a fault lasts at most, in leases. */
export const LONGEST_FAULT = 2.5;
const SHORTEST_FAULT = 0.2;
/** The longest time for which a slow network holds a piece of data, in leases. */
export const LONGEST_DELAY = 0.2;
/** The probability that a fault hits the leader. */
const LEADER_BIAS = 0.8;
/** The probability that one of several stores gets a fault. */
const MEMBER_CHANCE = 0.7;
/** How many workers are cut off for ever at most, in one episode. Of five, three remain. */
const MOST_SEVERED = 2;

/** Returns the plan for a seed. It depends on nothing else. */
export function planOf(seed: number, { rounds, isNetworked, hasMembers = false }: PlanOptions): readonly PlannedRound[] {
  const dice = new SeededRandom(seed);
  let severed = 0;
  return Array.from({ length: rounds }, () => {
    const calm = dice.between(0, 0.5);
    const process = faultOf(dice, dice.pick(PROCESS_FAULTS));
    const member = hasMembers && dice.chance(MEMBER_CHANCE) ? memberFaultOf(dice) : undefined;
    const disturbsStore = dice.chance(0.25) && !member;
    const severs = dice.chance(0.1) && severed < MOST_SEVERED && isNetworked;
    if (severs) severed += 1;
    const store = isNetworked ? dice.pick(STORE_FAULTS) : "store-frozen";
    const network = faultOf(dice, severs ? SEVERED : disturbsStore ? store : dice.pick(LINK_FAULTS));
    // One, the other, or both.
    const which = dice.next();
    const hasNetwork = severs || ((isNetworked || disturbsStore) && which < 0.8);
    return {
      calm,
      ...(which >= 0.5 || !hasNetwork ? { process } : {}),
      ...(hasNetwork ? { network } : {}),
      ...(member ? { member } : {}),
    };
  });
}

/** Stores have no leader, so the target is any of them. */
function memberFaultOf(dice: SeededRandom): PlannedFault<MemberFault> {
  const fault = faultOf(dice, dice.pick(MEMBER_FAULTS));
  return { ...fault, target: Math.floor(dice.next() * 60) };
}

function faultOf<Kind extends FaultKind>(dice: SeededRandom, kind: Kind): PlannedFault<Kind> {
  const [isLeader, other] = [dice.chance(LEADER_BIAS), dice.next()];
  return {
    kind,
    target: isLeader ? "leader" : Math.floor(other * 60),
    after: dice.between(0, 0.5),
    lasts: dice.between(SHORTEST_FAULT, LONGEST_FAULT),
    delay: dice.between(0.02, LONGEST_DELAY),
    renames: dice.chance(0.25),
  };
}
