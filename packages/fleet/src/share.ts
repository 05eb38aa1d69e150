// Computes how many shards each member shall have.

export interface Sharer {
  readonly slot: number;
  readonly weight: number;
  /** The most that it takes. */
  readonly most: number;
  readonly priority: number;
  /** The shards that it has now. */
  readonly has: number;
}

/**
 * Returns the share of each member, by its slot. The highest priority gets all that its members take; the rest goes to the next
 * one. Members of one priority share by weight. The odd shards go to those that have most already, so that none moves without
 * need.
 */
export function sharesOf(members: readonly Sharer[], total: number): Map<number, number> {
  const shares = new Map(members.map(({ slot }) => [slot, 0]));
  let left = total;
  for (const tier of [...new Set(members.map(({ priority }) => priority))].toSorted((a, b) => b - a)) {
    left = shareOut(
      members.filter(({ priority }) => priority === tier),
      left,
      shares,
    );
  }
  return shares;
}

/** Shares out among members of one priority. Returns what is left. */
function shareOut(members: readonly Sharer[], total: number, shares: Map<number, number>): number {
  if (members.length === 0) return total;
  const weight = members.reduce((sum, one) => sum + one.weight, 0);
  // A member that reaches its limit drops out, and the others share the rest.
  const full = members.filter((one) => one.most <= (total * one.weight) / weight);
  if (full.length > 0) {
    for (const { slot, most } of full) shares.set(slot, most);
    const taken = full.reduce((sum, { most }) => sum + most, 0);
    const others = members.filter((one) => !full.includes(one));
    return shareOut(others, total - taken, shares);
  }
  const whole = members.map((one) => ({ ...one, share: Math.floor((total * one.weight) / weight) }));
  let odd = total - whole.reduce((sum, { share }) => sum + share, 0);
  for (const { slot, share } of whole.toSorted((a, b) => b.has - b.share - (a.has - a.share) || a.slot - b.slot)) {
    shares.set(slot, share + (odd > 0 ? 1 : 0));
    odd -= 1;
  }
  return 0;
}
