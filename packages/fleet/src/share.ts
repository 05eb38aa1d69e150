// Computes how many shards each member shall have.

import type { Report } from "./report.ts";

/** A member that can be granted shards. */
export interface Sharer {
  readonly slot: number;
  readonly report: Report;
  /** The shards that count in the member's share. */
  readonly kept: string[];
  /** The number of the member's shards that were given back lately. They do not count in its share. */
  apart: number;
  share: number;
}

/**
 * Sets the share of each member. Members of the highest priority get shards first, up to their limits. The next priority shares
 * the rest. Members of one priority share by weight. Rounding leaves a few shards over. They go to the members that already have
 * the most beyond their share, so that few shards move.
 */
export function setShares(members: readonly Sharer[], total: number): void {
  const priorities = new Set(members.map(({ report }) => report.priority));
  let left = total;
  for (const tier of [...priorities].toSorted((a, b) => b - a)) {
    const peers = members.filter(({ report }) => report.priority === tier);
    left = shareOut(peers, left);
  }
}

/** Divides the shards among members of one priority. Returns the number of shards that are left. */
function shareOut(members: readonly Sharer[], total: number): number {
  if (members.length === 0) return total;
  const weight = members.reduce((sum, { report }) => sum + report.weight, 0);
  const partOf = ({ report }: Sharer): number => (total * report.weight) / weight;
  const most = ({ report, apart }: Sharer): number => Math.max(report.maxShards - apart, 0);
  // A member whose share reaches its limit gets the limit. The other members share the rest.
  const full = members.filter((one) => most(one) <= partOf(one));
  const rest = (): number => members.reduce((left, { share }) => left - share, total);
  for (const one of full) one.share = most(one);
  const others = members.filter((one) => !full.includes(one));
  if (full.length > 0) return shareOut(others, rest());
  for (const one of members) one.share = Math.floor(partOf(one));
  const beyond = ({ kept, share }: Sharer): number => kept.length - share;
  for (const one of members.toSorted((a, b) => beyond(b) - beyond(a) || a.slot - b.slot).slice(0, rest())) one.share += 1;
  return 0;
}
