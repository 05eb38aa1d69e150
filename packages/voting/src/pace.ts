/** The shortest time for which answers to trials are held. On a fast network, the event loops of busy processes differ by as much. */
const SHORTEST_HOLD_MS = 50;
/** Answers are expected to take so many times what round trips and syncs took before. */
const SPARE = 1.5;
/** The number of times that are remembered. Their median counts: one slow answer says nothing of the next. */
const REMEMBERED = 5;

/** The times that round trips to the other servers and syncs take, as far as this server has seen. In milliseconds. */
export class Pace {
  readonly #roundTripsMs = new Map<string, number[]>();
  readonly #syncsMs = new Map<string, number[]>();

  /** Another server has answered a request that needs no sync and is not held. */
  answered(name: string, tookMs: number): void {
    remember(this.#roundTripsMs, name, tookMs);
  }

  /** A server has synced its disk. */
  synced(name: string, tookMs: number): void {
    remember(this.#syncsMs, name, tookMs);
  }

  /** The time that a sync of one server takes. */
  syncMs(name: string): number {
    return median(this.#syncsMs.get(name) ?? []);
  }

  /** The time for which answers to trials are held: trials that are sent within half a round trip of one another arrive in it. */
  get holdMs(): number {
    return Math.max(SHORTEST_HOLD_MS, SPARE * longest(this.#roundTripsMs));
  }

  /** The time that one request to every server takes: its round trip, and a sync. */
  get answerMs(): number {
    return SPARE * (longest(this.#roundTripsMs) + longest(this.#syncsMs));
  }

  /** The time from a trial to the first LEAD: the hold, three round trips, and a sync more than these have. */
  get claimMs(): number {
    return this.holdMs + 4 * this.answerMs;
  }
}

function remember(times: Map<string, number[]>, name: string, ms: number): void {
  times.set(name, [...(times.get(name) ?? []), ms].slice(-REMEMBERED));
}

function longest(times: ReadonlyMap<string, readonly number[]>): number {
  return Math.max(0, ...[...times.values()].map(median));
}

/** Of two in the middle the longer one. */
function median(times: readonly number[]): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0;
}
