import type { Timestamp } from "./messages.ts";

const MICROS_PER_SECOND = 1_000_000n;
/** The service's times are hardly ever whole milliseconds, so that who cuts a version's time to them finds out here too. */
const SUBMILLISECOND = 457n;

/**
 * Microseconds since 1970, never twice the same and never less than before. A version of a document is told from every
 * other one by the time of its commit, so two commits in the same millisecond must not share theirs.
 */
export class ServerClock {
  readonly #now: () => number;
  #last = 0n;

  /** @param now the present in milliseconds since 1970, whose own steps back are not followed */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The present, later than every time given before. */
  next(): bigint {
    const present = BigInt(Math.floor(this.#now())) * 1000n + SUBMILLISECOND;
    this.#last = present > this.#last ? present : this.#last + 1n;
    return this.#last;
  }
}

export function timestampOf(micros: bigint): Timestamp {
  return { seconds: String(micros / MICROS_PER_SECOND), nanos: Number(micros % MICROS_PER_SECOND) * 1000 };
}

/** Cut to microseconds, the service's precision. */
export function microsOf({ seconds, nanos }: Timestamp): bigint {
  return BigInt(seconds) * MICROS_PER_SECOND + BigInt(Math.trunc(nanos / 1000));
}
