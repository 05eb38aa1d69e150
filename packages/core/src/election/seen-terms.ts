import { systemClock } from "../time/clock.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import { ExpiringMap } from "../time/expiring-map.ts";

/** The highest terms of one election that this process knows. */
interface Terms {
  /** Returned by a read, a push or an acquisition. */
  readonly seen: number;
  /** Led by this process: the store has acknowledged the acquisition. */
  readonly led: number;
}

const NONE: Terms = { seen: 0, led: 0 };
const known = new WeakMap<LeaseStore, ExpiringMap<Terms>>();

/** Returns the highest term of an election that this process has lately observed in a store; 0 if none. */
export function highestTermSeen(store: LeaseStore, election: string): number {
  return termsOf(store, election).seen;
}

/** Returns the highest term that this process has lately led; 0 if none. */
export function highestTermLed(store: LeaseStore, election: string): number {
  return termsOf(store, election).led;
}

/** Records a term, so that every elector of this process on that store notices a record that goes back. */
export function noteTerm(store: LeaseStore, election: string, term: number): void {
  note(store, election, { seen: term, led: 0 });
}

/** Records a term that this process leads. */
export function noteTermLed(store: LeaseStore, election: string, term: number): void {
  note(store, election, { seen: term, led: term });
}

function note(store: LeaseStore, election: string, { seen, led }: Terms): void {
  let terms = known.get(store);
  if (!terms) known.set(store, (terms = new ExpiringMap(store.clock ?? systemClock)));
  const before = terms.get(election) ?? NONE;
  if (seen > before.seen || led > before.led) {
    terms.set(election, { seen: Math.max(seen, before.seen), led: Math.max(led, before.led) });
  }
}

function termsOf(store: LeaseStore, election: string): Terms {
  return known.get(store)?.get(election) ?? NONE;
}
