import type { Clock } from "../time/clock.ts";

/** The weight of the last round trip beside those before it; as TCP smooths its own (RFC 6298). */
const SMOOTHING = 1 / 8;
/** A round trip counts as no longer than this: the first one may include making a connection. */
const LONGEST_ROUND_TRIP_MS = 100;
/** And as no shorter, on a store that answers at once. */
const SHORTEST_ROUND_TRIP_MS = 1;
/** The part of the candidates that go first after a wake-up, which reaches all at one instant; and after an expiry, or a poll. */
const FIRST = { woken: 1 / 12, other: 1 / 5 };
/** The time over which those spread, in round trips, and in milliseconds at most. */
const FIRST_SPREAD = { roundTrips: 0.4, ms: 50 };
/** The others wait until they can learn of a first one's acquisition: by a push, or by a read that they send then. In round trips. */
const OTHERS_WAIT = { push: 1.2, read: 0.5 };
/** The time over which the others spread, in round trips. */
const OTHERS_SPREAD = { push: 1, read: 0.5 };

/** The place of one candidate among those that may acquire from the same instant on. */
export interface PlaceInOrder {
  /** It acquires without another read. */
  readonly isFirst: boolean;
  /** When it acquires, or reads once more, by the monotonic clock. */
  readonly atMs: number;
}

/** How a candidate has learnt that it may acquire. */
export interface Occasion {
  /** When it could acquire, were it the only one, by the monotonic clock. */
  readonly sinceMs: number;
  /** The store has woken it. */
  readonly isWoken: boolean;
  /** The store would wake it at another one's acquisition. */
  readonly isPushed: boolean;
}

/**
 * An order among candidates that learn at one instant that a lease is free. Each draws its place beforehand. A few go first, and
 * write at once. The others wait until a first one's win can be known, and write only where there was none. So a crowd costs a
 * handful of writes, and a candidate that stands by alone waits for a round trip or two.
 */
export class AcquireOrder {
  readonly #clock: Clock;
  #roundTripMs: number | undefined;
  #place: (PlaceInOrder & { readonly term: number }) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The time that a request takes, as far as is known; see the limits above. */
  get roundTripMs(): number {
    return Math.min(Math.max(this.#roundTripMs ?? 0, SHORTEST_ROUND_TRIP_MS), LONGEST_ROUND_TRIP_MS);
  }

  /** Notes how long a request took. */
  tookMs(ms: number): void {
    const beforeMs = this.#roundTripMs ?? ms;
    this.#roundTripMs = beforeMs + (ms - beforeMs) * SMOOTHING;
  }

  /** A short delay, drawn at random: standbys that aim at the same renewal do not poll at one instant. */
  spreadMs(): number {
    return Math.min(FIRST_SPREAD.roundTrips * this.roundTripMs, FIRST_SPREAD.ms) * this.#clock.random();
  }

  /**
   * Returns this candidate's place for the term after `term`; drawn when it is asked for the first time.
   */
  placeAfter(term: number, { sinceMs, isWoken, isPushed }: Occasion): PlaceInOrder {
    if (this.#place?.term === term) return this.#place;
    const how = isPushed ? "push" : "read";
    const isFirst = this.#clock.random() < FIRST[isWoken ? "woken" : "other"];
    const waitMs = isFirst ? this.spreadMs() : (OTHERS_WAIT[how] + OTHERS_SPREAD[how] * this.#clock.random()) * this.roundTripMs;
    this.#place = { term, isFirst, atMs: sinceMs + waitMs };
    return this.#place;
  }

  /** The candidate acts now: the next time it draws anew. */
  taken(): void {
    this.#place = undefined;
  }
}
