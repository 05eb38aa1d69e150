import type { Clock } from "./clock.ts";

/** The time for which an entry is kept after it was last read, in milliseconds. */
const KEPT_MS = 3_600_000;
/** For each new entry, the map checks this many old entries. With two, the map checks faster than it grows. */
const CHECKS = 2;

interface Entry<Value> {
  readonly value: Value;
  keptUntilMs: number;
}

/** A map that drops entries that nobody has read in the last hour, so that it stays small even if new names come every second. */
export class ExpiringMap<Value> {
  readonly #clock: Clock;
  /** In the order in which they were checked last. */
  readonly #entries = new Map<string, Entry<Value>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry) this.#keep(entry, KEPT_MS);
    return entry?.value;
  }

  set(key: string, value: Value): void {
    const keptUntilMs = Math.max(this.#clock.monotonicMs() + KEPT_MS, this.#entries.get(key)?.keptUntilMs ?? 0);
    if (!this.#entries.has(key)) this.#dropOld();
    this.#entries.set(key, { value, keptUntilMs });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Keeps an entry for at least this much longer, for a caller that reads it again only then. */
  keep(key: string, forMs: number): void {
    const entry = this.#entries.get(key);
    if (entry) this.#keep(entry, forMs);
  }

  #keep(entry: Entry<Value>, forMs: number): void {
    entry.keptUntilMs = Math.max(entry.keptUntilMs, this.#clock.monotonicMs() + forMs);
  }

  #dropOld(): void {
    const nowMs = this.#clock.monotonicMs();
    let checked = 0;
    for (const [key, entry] of this.#entries) {
      if (checked === CHECKS) return;
      checked += 1;
      this.#entries.delete(key);
      if (entry.keptUntilMs > nowMs) this.#entries.set(key, entry);
    }
  }
}
