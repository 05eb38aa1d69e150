import type { Clock } from "../time/clock.ts";
import { ExpiringMap } from "../time/expiring-map.ts";

/** The highest terms of one election that this process knows; 0 if none. */
interface Terms {
  /** Returned by a read, a push or an acquisition. */
  readonly seen: number;
  /** Led by this process: the store has acknowledged the acquisition. */
  readonly led: number;
}

const NONE: Terms = { seen: 0, led: 0 };

/** The terms that this process has lately observed in a store. By them each of its electors notices a record that goes back. */
export class SeenTerms {
  readonly #byElection: ExpiringMap<Terms>;

  constructor(clock: Clock) {
    this.#byElection = new ExpiringMap(clock);
  }

  highest(election: string): Terms {
    return this.#byElection.get(election) ?? NONE;
  }

  /** Records a term. `isLed` is true if this process leads it. */
  note(election: string, term: number, isLed = false): void {
    const { seen, led } = this.highest(election);
    const isNews = term > seen || (isLed && term > led);
    if (isNews) this.#byElection.set(election, { seen: Math.max(term, seen), led: isLed ? Math.max(term, led) : led });
  }
}
