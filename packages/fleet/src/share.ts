// Computes how many shards each member shall have.

export interface Sharer {
  readonly slot: number;
  readonly weight: number;
  /** The most shards that this member takes. */
  readonly most: number;
  readonly priority: number;
  /** The number of shards that this member has now. */
  readonly has: number;
}

/**
 * Returns the number of shards for each slot. Members of the highest priority get shards first, up to their limits. The next
 * priority shares the rest. Members of one priority share by weight. Rounding leaves a few shards over. They go to the members
 * that already have the most beyond their share, so that few shards move.
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

/** Divides the shards among members of one priority. Returns the number of shards that are left. */
function shareOut(members: readonly Sharer[], total: number, shares: Map<number, number>): number {
  if (members.length === 0) return total;
  const weight = members.reduce((sum, one) => sum + one.weight, 0);
  // A member whose share reaches its limit gets the limit. The other members share the rest.
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
