// Measures how long a condition has held without a break, by the monotonic clock of this process.

import type { Clock } from "@leasehold/core/provider";

export class Lasting {
  readonly #clock: Clock;
  /** The time at which each condition began to hold, by kind and name. */
  readonly #sinceMs = new Map<string, ReadonlyMap<string, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records the names for which a condition holds now. Returns how long it has held for each. A missing name starts anew. */
  all(kind: string, names: Iterable<string>): ReadonlyMap<string, number> {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#sinceMs.get(kind);
    const sinceMs = new Map(Array.from(names, (name) => [name, before?.get(name) ?? nowMs]));
    this.#sinceMs.set(kind, sinceMs);
    return new Map(Array.from(sinceMs, ([name, ms]) => [name, nowMs - ms]));
  }

  /** Records whether a condition holds now. Returns how long it has held; `-Infinity` if it does not hold. */
  ms(kind: string, isSo: boolean, name = ""): number {
    return this.all(kind, isSo ? [name] : []).get(name) ?? -Infinity;
  }
}
