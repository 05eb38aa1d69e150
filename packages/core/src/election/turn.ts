import type { Clock } from "../time/clock.ts";

/** The longest delay, in round trips: then the median one, a push and an acquisition are less than five together. */
const LONGEST_ROUND_TRIPS = 3.4;
/** The longest delay whatever the round trip: the first one may include making a connection. */
const LONGEST_MS = 250;
/** The weight of the last round trip beside those before it; as TCP smooths its own (RFC 6298). */
const SMOOTHING = 1 / 8;
/** The longest delay is no shorter than this, on a store that answers at once. */
const SHORTEST_MS = 1;
/** For how many candidates it is made; more of them write more. */
const CROWD = 50;

/**
 * A random delay for candidates that may all act at one instant, such that few of them do: whoever is first makes the
 * others see, before their delay is over, that they need not.
 *
 * The delays are exponential, most of them near the longest: the more candidates there are, the earlier comes the first,
 * and still few fall into the round trip after it. A single candidate waits little longer than if they were even.
 * See Nonnenmacher and Biersack, "Scalable Feedback for Large Groups", IEEE/ACM Transactions on Networking 7 (1999).
 */
export class Turn {
  readonly #clock: Clock;
  readonly #attemptTimeoutMs: number;
  #roundTripMs: number | undefined;
  /** The instant at which this candidate's delay after the end of that term is over. */
  #drawn: { readonly term: number; readonly atMs: number } | undefined;

  constructor(clock: Clock, attemptTimeoutMs: number) {
    this.#clock = clock;
    this.#attemptTimeoutMs = attemptTimeoutMs;
  }

  /** Notes how long a request took. */
  tookMs(ms: number): void {
    const beforeMs = this.#roundTripMs ?? ms;
    this.#roundTripMs = beforeMs + (ms - beforeMs) * SMOOTHING;
  }

  /** Returns the time until this candidate may acquire after that term; drawn when it is asked for the first time. */
  inMs(term: number): number {
    const nowMs = this.#clock.monotonicMs();
    if (this.#drawn?.term !== term) this.#drawn = { term, atMs: nowMs + this.delayMs() };
    return this.#drawn.atMs - nowMs;
  }

  /** The candidate acts now: the next time it waits anew. */
  taken(): void {
    this.#drawn = undefined;
  }

  /** A delay drawn at random. Together with a request it takes no longer than one attempt may. */
  delayMs(): number {
    const roundTripMs = this.#roundTripMs ?? 0;
    const wantedMs = Math.max(roundTripMs * LONGEST_ROUND_TRIPS, SHORTEST_MS);
    const longestMs = Math.max(Math.min(wantedMs, LONGEST_MS, this.#attemptTimeoutMs - roundTripMs), 0);
    return (longestMs * Math.log(1 + this.#clock.random() * (CROWD - 1))) / Math.log(CROWD);
  }
}
