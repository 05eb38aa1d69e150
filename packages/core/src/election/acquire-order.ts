import type { Clock } from "../time/clock.ts";

/** The weight of the latest round trip in the average, as in TCP's own smoothing (RFC 6298). */
const SMOOTHING = 1 / 8;
/** A longer round trip counts as this, because the first one may include opening a connection. */
const LONGEST_ROUND_TRIP_MS = 100;
/** A shorter round trip counts as this, on a store that answers at once. */
const SHORTEST_ROUND_TRIP_MS = 1;
/** The share of the candidates that go first. A wake-up reaches all of them at one instant, so the share is smaller then. */
const FIRST = { woken: 1 / 12, other: 1 / 5 };
/** Polls that aim at one renewal are spread over this many round trips. */
const POLL_SPREAD = 0.4;
/** The others wait this many round trips. A push by then, or a read sent then, shows whether a first candidate acquired. */
const OTHERS_WAIT = { push: 1.2, read: 0.25 };
/** The others wait this much longer, in milliseconds, because a service carries out a write more slowly than a read. */
const SLOW_WRITE_MS = 5;
/** The other candidates are spread over this many round trips. No candidate learns of another's win within one round trip. */
const OTHERS_SPREAD = 0.2;

/** The turn of one candidate among those that may acquire from the same instant on. */
export interface PlaceInOrder {
  /** True if it acquires without another read. */
  readonly isFirst: boolean;
  /** The instant at which it acquires or reads once more, by the monotonic clock. */
  readonly atMs: number;
}

export interface Occasion {
  /** The instant from which this candidate could acquire if it were the only one, by the monotonic clock. */
  readonly sinceMs: number;
  readonly isWoken: boolean;
  /** True if the store would wake this candidate when another one acquires. */
  readonly isPushed: boolean;
}

/** Orders candidates that learn at one instant that a lease is free. A few write at once; the others wait to learn of a win. */
export class AcquireOrder {
  readonly #clock: Clock;
  #roundTripMs: number | undefined;
  #place: (PlaceInOrder & { readonly term: number }) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get roundTripMs(): number {
    return Math.min(Math.max(this.#roundTripMs ?? SHORTEST_ROUND_TRIP_MS, SHORTEST_ROUND_TRIP_MS), LONGEST_ROUND_TRIP_MS);
  }

  tookMs(ms: number): void {
    const beforeMs = this.#roundTripMs ?? ms;
    this.#roundTripMs = beforeMs + (ms - beforeMs) * SMOOTHING;
  }

  /** Returns a short random delay. With it, standbys that aim at the same renewal do not poll at one instant. */
  spreadMs(): number {
    return POLL_SPREAD * this.roundTripMs * this.#clock.random();
  }

  /** Returns this candidate's turn for the term after `term`. The first call for that term draws it. */
  placeAfter(term: number, { sinceMs, isWoken, isPushed }: Occasion): PlaceInOrder {
    if (this.#place?.term === term) return this.#place;
    const how = isPushed ? "push" : "read";
    const isFirst = this.#clock.random() < FIRST[isWoken ? "woken" : "other"];
    const roundTrips = OTHERS_WAIT[how] + OTHERS_SPREAD * this.#clock.random();
    const waitMs = isFirst ? 0 : roundTrips * this.roundTripMs + SLOW_WRITE_MS;
    this.#place = { term, isFirst, atMs: sinceMs + waitMs };
    return this.#place;
  }

  taken(): void {
    this.#place = undefined;
  }
}
