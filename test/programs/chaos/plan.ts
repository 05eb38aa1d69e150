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

/** A fault that is to come. Durations are in leases. */
export interface PlannedFault<Kind extends FaultKind = FaultKind> {
  readonly kind: Kind;
  /** Whom it meets: whoever leads at that moment, or a number, for one of those who can be met. */
  readonly target: "leader" | number;
  /** How long after the beginning of its round. */
  readonly after: number;
  readonly lasts: number;
  /** For how long a slow network keeps each piece of data. */
  readonly delay: number;
  /** A worker that is started again has another candidateId than before. */
  readonly renames: boolean;
}

/** One round: some faults at about the same time, all of which end. */
export interface PlannedRound {
  /** Nothing happens for so long, in leases. */
  readonly calm: number;
  /** The fault of a process. */
  readonly process?: PlannedFault<ProcessFault>;
  /** The fault of a worker's connections, or of the store. */
  readonly network?: PlannedFault<LinkFault | StoreFault | typeof SEVERED>;
  /** The fault of one of several stores: there is never one of all stores beside it. */
  readonly member?: PlannedFault<MemberFault>;
}

export interface PlanOptions {
  readonly rounds: number;
  /** Workers reach the store through a network. */
  readonly isNetworked: boolean;
  /** Several stores keep the leases together. */
  readonly hasMembers?: boolean;
}

/** How long a fault lasts, in leases. */
export const LONGEST_FAULT = 2.5;
const SHORTEST_FAULT = 0.2;
/** The longest that a slow network keeps a piece of data, in leases. */
export const LONGEST_DELAY = 0.2;
/** How often a fault is meant for the leader. */
const LEADER_BIAS = 0.8;
/** How often one of several stores is disturbed. */
const MEMBER_CHANCE = 0.7;
/** How many workers are cut off for ever at most, in one episode: of five, three are left. */
const MOST_SEVERED = 2;

/** The plan: the same for the same seed, whatever happens then. */
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

/** No store leads: it is any of them. */
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
