// For how long something has been so without a break, by the monotonic clock of this process.

import type { Clock } from "@leasehold/core/provider";

export class Lasting {
  readonly #clock: Clock;
  /** By kind and name. */
  readonly #sinceMs = new Map<string, ReadonlyMap<string, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes which names of a kind are so now. Returns for how long each has been. A name that is missing once begins anew. */
  all(kind: string, names: Iterable<string>): ReadonlyMap<string, number> {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#sinceMs.get(kind);
    const sinceMs = new Map(Array.from(names, (name) => [name, before?.get(name) ?? nowMs]));
    this.#sinceMs.set(kind, sinceMs);
    return new Map(Array.from(sinceMs, ([name, ms]) => [name, nowMs - ms]));
  }

  /** Notes whether something is so now. Returns for how long it has been; `-Infinity` if it is not. */
  ms(kind: string, isSo: boolean, name = ""): number {
    return this.all(kind, isSo ? [name] : []).get(name) ?? -Infinity;
  }
}
