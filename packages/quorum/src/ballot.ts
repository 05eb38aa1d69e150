/**
 * The number of a round. Ballots are ordered by `round`, and with equal rounds by `proposer`. No two rounds have the same ballot.
 */
export interface Ballot {
  readonly round: number;
  /** A random id, one per store instance. */
  readonly proposer: string;
}

/** Compares two ballots for `sort`; `undefined` comes first. */
export function compareBallots(one: Ballot | undefined, other: Ballot | undefined): number {
  if (!one || !other) return Number(one !== undefined) - Number(other !== undefined);
  if (one.round !== other.round) return one.round - other.round;
  return one.proposer < other.proposer ? -1 : Number(one.proposer > other.proposer);
}

/**
 * Returns the ballot that an accept under this ballot also promises. This promise lets the proposer's next write skip the
 * prepare.
 */
export function forward({ round, proposer }: Ballot): Ballot {
  return { round: round + 1, proposer };
}

/** Returns the highest of some ballots, or `undefined` if there is none. */
export function highest(ballots: Iterable<Ballot | undefined>): Ballot | undefined {
  let found: Ballot | undefined;
  for (const ballot of ballots) if (compareBallots(ballot, found) > 0) found = ballot;
  return found;
}

/** The author of proposals: one per store instance. */
export interface Proposer {
  readonly id: string;
  /** The highest round number that this proposer has used in any election. It uses no number twice. */
  lastRound: number;
}
