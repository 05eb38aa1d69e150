import type { Clock } from "./clock.ts";

/** The time for which an entry is kept that nobody asks for. */
const KEPT_MS = 3_600_000;
/** The number of entries that each new one makes the map look at: two, so that it goes round faster than it grows. */
const LOOKED_AT = 2;

interface Entry<Value> {
  readonly value: Value;
  /** By the monotonic clock. */
  keptUntilMs: number;
}

/**
 * A map that lets go of what nobody has asked for in the last hour, so that a process that meets new names every second
 * for a year keeps a bounded memory. Only new entries make it let go of old ones.
 */
export class Recent<Value> {
  readonly #clock: Clock;
  /** Those that were looked at last are last. */
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
    if (!this.#entries.has(key)) this.#letGo();
    this.#entries.set(key, { value, keptUntilMs });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Keeps an entry for so long more, at least: for somebody who comes back only then. */
  keep(key: string, forMs: number): void {
    const entry = this.#entries.get(key);
    if (entry) this.#keep(entry, forMs);
  }

  #keep(entry: Entry<Value>, forMs: number): void {
    entry.keptUntilMs = Math.max(entry.keptUntilMs, this.#clock.monotonicMs() + forMs);
  }

  #letGo(): void {
    const nowMs = this.#clock.monotonicMs();
    let looks = 0;
    for (const [key, entry] of this.#entries) {
      if (looks === LOOKED_AT) return;
      looks += 1;
      this.#entries.delete(key);
      if (entry.keptUntilMs > nowMs) this.#entries.set(key, entry);
    }
  }
}
