import type { Timestamp } from "./messages.ts";

const MICROS_PER_SECOND = 1_000_000n;
/**
 * The service's times are rarely whole milliseconds. With this, code that truncates a version's time to milliseconds fails here,
 * too.
 */
const SUBMILLISECOND = 457n;

/**
 * Returns microseconds since 1970, always later than before. The time of its commit distinguishes a version of a document from
 * every other one. So two commits in the same millisecond must have different times.
 */
export class ServerClock {
  readonly #now: () => number;
  #last = 0n;

  /** @param now the present in milliseconds since 1970; its steps back are ignored */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns the present, later than every time that it returned before. */
  next(): bigint {
    const present = BigInt(Math.floor(this.#now())) * 1000n + SUBMILLISECOND;
    this.#last = present > this.#last ? present : this.#last + 1n;
    return this.#last;
  }
}

export function timestampOf(micros: bigint): Timestamp {
  return { seconds: String(micros / MICROS_PER_SECOND), nanos: Number(micros % MICROS_PER_SECOND) * 1000 };
}

/** Returns a time, truncated to microseconds, which is the service's precision. */
export function microsOf({ seconds, nanos }: Timestamp): bigint {
  return BigInt(seconds) * MICROS_PER_SECOND + BigInt(Math.trunc(nanos / 1000));
}
