/** The number of a round: ordered by `round`, and among equal ones by who proposes. No two writes have the same. */
export interface Ballot {
  readonly round: number;
  /** Random, one per store instance. */
  readonly proposer: string;
}

/** Compares two ballots as `sort` does; nothing comes before everything. */
export function compareBallots(one: Ballot | undefined, other: Ballot | undefined): number {
  if (!one || !other) return Number(one !== undefined) - Number(other !== undefined);
  if (one.round !== other.round) return one.round - other.round;
  return one.proposer < other.proposer ? -1 : Number(one.proposer > other.proposer);
}

/** The ballot that an accept under this one promises: the proposer's next write needs no prepare. */
export function forward({ round, proposer }: Ballot): Ballot {
  return { round: round + 1, proposer };
}

/** Returns the highest of some ballots, or `undefined` of none. */
export function highest(ballots: Iterable<Ballot | undefined>): Ballot | undefined {
  let found: Ballot | undefined;
  for (const ballot of ballots) if (compareBallots(ballot, found) > 0) found = ballot;
  return found;
}
