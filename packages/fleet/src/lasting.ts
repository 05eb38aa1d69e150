// Measures how long a condition has held without a break, by the monotonic clock of this process.

import type { Clock } from "@leasehold/core/provider";

export class Lasting {
  readonly #clock: Clock;
  /** The time at which each condition began to hold, by kind and name. */
  readonly #sinceMs = new Map<string, ReadonlyMap<string, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records the names for which a condition holds now. Returns each value with the time for which it has held. */
  all<T>(kind: string, named: ReadonlyMap<string, T>): Array<[value: T, ms: number]> {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#sinceMs.get(kind);
    const sinceMs = new Map(Array.from(named.keys(), (name) => [name, before?.get(name) ?? nowMs]));
    this.#sinceMs.set(kind, sinceMs);
    return Array.from(named, ([name, value]) => [value, nowMs - (sinceMs.get(name) ?? nowMs)]);
  }

  /** Records whether a condition holds now. Returns how long it has held; `-Infinity` if it does not hold. */
  ms(kind: string, isSo: boolean, name = ""): number {
    const [held] = this.all(kind, new Map(isSo ? [[name, true]] : []));
    return held?.[1] ?? -Infinity;
  }
}
