import { systemClock } from "../time/clock.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import { Recent } from "../time/recent.ts";

const seen = new WeakMap<LeaseStore, Recent<number>>();

/** The highest term that this process has lately seen of an election in a store; 0 before any. */
export function highestTermSeen(store: LeaseStore, election: string): number {
  return seen.get(store)?.get(election) ?? 0;
}

/** Notes a term, so that a record that goes back is noticed by every elector of this process on that store. */
export function noteTerm(store: LeaseStore, election: string, term: number): void {
  let terms = seen.get(store);
  if (!terms) seen.set(store, (terms = new Recent(store.clock ?? systemClock)));
  if (term > (terms.get(election) ?? 0)) terms.set(election, term);
}
