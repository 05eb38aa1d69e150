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
  const terms = seen.get(store) ?? new Recent<number>(store.clock ?? systemClock);
  seen.set(store, terms);
  if (term > (terms.get(election) ?? 0)) terms.set(election, term);
}
