import { compareBallots } from "./ballot.ts";
import type { Kept, Proposal } from "./kept.ts";

/** What was chosen, and how old its nonce is. */
export interface Chosen {
  readonly proposal: Proposal;
  readonly ageMs?: readonly [min: number, max: number] | undefined;
  /** How long ago a member first showed it to this process, chosen or not. Its writer counts from before that. */
  readonly knownForMs?: number | undefined;
}

/** The state that was accepted under the highest ballot. */
export function topOf(kept: ReadonlyMap<string, Kept>): Kept | undefined {
  let top: Kept | undefined;
  for (const one of kept.values()) if (compareBallots(one.accepted, top?.accepted) > 0) top = one;
  return top;
}

/** Bounds of the nonce's age that every member of some majority shows, each by its own clock: the one with the most. */
export function ageOf({ record }: Proposal, kept: ReadonlyMap<string, Kept>, majority: number): Chosen["ageMs"] {
  const ages = [...kept.values()].flatMap(({ proposal, ageMs }) =>
    ageMs && proposal?.record.nonce === record.nonce ? [ageMs] : [],
  );
  const [leastMs] = ages.toSorted(([one], [other]) => other - one)[majority - 1] ?? [];
  return leastMs === undefined ? undefined : [leastMs, Math.max(...ages.map(([, mostMs]) => mostMs))];
}
