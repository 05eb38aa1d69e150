import type { Clock } from "@leasehold/core/provider";

/** The shortest hold of a trial. On a fast network, the event loops of busy processes differ by this much. */
const SHORTEST_HOLD_MS = 50;
/** The expected times are this many times the measured ones. */
const SPARE = 1.5;
/** The number of measured times that are kept. Their median counts, because one slow answer says nothing about the next. */
const REMEMBERED = 5;
/** A server that has not answered for this long is gone. Servers ask each other at least every ten seconds. */
const FORGOTTEN_MS = 60_000;

/** The times of round trips to the other servers and of disk syncs, as far as this server knows. In milliseconds. */
export class Pace {
  readonly #roundTripsMs = new Map<string, number[]>();
  readonly #syncsMs = new Map<string, number[]>();
  /** The time of each other server's last answer. */
  readonly #answeredMs = new Map<string, number>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records that another server has answered a request that needs no sync and is not held. */
  answered(name: string, tookMs: number): void {
    remember(this.#roundTripsMs, name, tookMs);
    this.#answeredMs.set(name, this.#clock.monotonicMs());
  }

  /** Records how long a server's sync took. */
  synced(name: string, tookMs: number): void {
    remember(this.#syncsMs, name, tookMs);
  }

  syncMs(name: string): number {
    return median(this.#syncsMs.get(name) ?? []);
  }

  /** The hold of a trial. Trials that are sent within half a round trip of each other arrive within it. */
  get holdMs(): number {
    return Math.max(SHORTEST_HOLD_MS, SPARE * this.#longest(this.#roundTripsMs));
  }

  /** The time that one request to every server takes: its round trip, and a sync. */
  get answerMs(): number {
    return SPARE * (this.#longest(this.#roundTripsMs) + this.#longest(this.#syncsMs));
  }

  /** The time from a trial to the first LEAD: the hold, three requests, and time for one more. */
  get claimMs(): number {
    return this.holdMs + 4 * this.answerMs;
  }

  #longest(times: ReadonlyMap<string, readonly number[]>): number {
    const sinceMs = this.#clock.monotonicMs() - FORGOTTEN_MS;
    const present = [...times].filter(([name]) => (this.#answeredMs.get(name) ?? Infinity) > sinceMs);
    return Math.max(0, ...present.map(([, taken]) => median(taken)));
  }
}

function remember(times: Map<string, number[]>, name: string, ms: number): void {
  times.set(name, [...(times.get(name) ?? []), ms].slice(-REMEMBERED));
}

/** With an even number of times, returns the longer of the middle two. */
function median(times: readonly number[]): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0;
}
