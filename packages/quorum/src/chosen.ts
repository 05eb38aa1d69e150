import { compareBallots, forward, highest } from "./ballot.ts";
import type { MemberState, Proposal } from "./member-state.ts";

/** The chosen proposal, and the age of its nonce. */
export interface Chosen {
  readonly proposal: Proposal;
  readonly ageMs?: readonly [min: number, max: number] | undefined;
  /**
   * The time since a member first showed the nonce to this process, even before it was chosen. The nonce's writer counts from
   * an earlier time.
   */
  readonly knownForMs?: number | undefined;
}

/** Returns the state that was accepted under the highest ballot; `undefined` if none was accepted. */
export function topOf(kept: ReadonlyMap<string, MemberState>): MemberState | undefined {
  let top: MemberState | undefined;
  for (const one of kept.values()) if (compareBallots(one.accepted, top?.accepted) > 0) top = one;
  return top;
}

/**
 * Returns bounds of the nonce's age. Each member reports the age by its own clock. The lower bound is the greatest age that every
 * member of some majority shows; the upper bound is the greatest of all. `undefined` if no majority reports an age of this nonce.
 */
export function ageOf({ record }: Proposal, kept: ReadonlyMap<string, MemberState>, majority: number): Chosen["ageMs"] {
  const ages = [...kept.values()].flatMap(({ proposal, ageMs }) =>
    ageMs && proposal?.record.nonce === record.nonce ? [ageMs] : [],
  );
  const [leastMs] = ages.toSorted(([one], [other]) => other - one)[majority - 1] ?? [];
  return leastMs === undefined ? undefined : [leastMs, Math.max(...ages.map(([, mostMs]) => mostMs))];
}

/**
 * Reports whether another process's round may be under way. In that case a member has promised another proposer a ballot above
 * the one that the newest accept promised.
 */
export function isUnderWay(kept: ReadonlyMap<string, MemberState>, ownProposer: string): boolean {
  const accepted = topOf(kept)?.accepted;
  const promised = highest([...kept.values()].map((one) => one.promised));
  return promised?.proposer !== ownProposer && compareBallots(promised, accepted && forward(accepted)) > 0;
}
