import type { Clock, Timer } from "../clock.ts";

interface Pending {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * A clock that moves only when told: for deterministic tests of code that uses Leasehold. Timers run in the order of
 * their time, and everything that they set off runs before the next one does.
 */
export class VirtualClock implements Clock {
  #monotonicMs = 1_000;
  #wallMs = Date.UTC(2026, 0, 1);
  #order = 0;
  #seed: number;
  readonly #pending = new Set<Pending>();

  /** @param seed of the numbers that `random` and `randomUuid` give. */
  constructor(seed = 1) {
    this.#seed = seed;
  }

  /** How many timers are waiting: 0 once everything has been stopped. */
  get pendingTimers(): number {
    return this.#pending.size;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    this.#order += 1;
    let atMs = this.#monotonicMs + Math.max(delayMs, 0);
    // Rounding must not make it early: a deadline not quite reached would be set again for ever, at the same instant.
    if (atMs - this.#monotonicMs < delayMs) atMs += atMs * Number.EPSILON;
    const pending = { atMs, order: this.#order, callback };
    this.#pending.add(pending);
    return { cancel: () => void this.#pending.delete(pending) };
  }

  random(): number {
    // mulberry32: https://gist.github.com/tommyettinger/46a874533244883189143505d203312c (public domain)
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#seed ^ (this.#seed >>> 15), this.#seed | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  randomUuid(): string {
    const hex = Array.from({ length: 32 }, () => Math.floor(this.random() * 16).toString(16)).join("");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  }

  /** Lets `ms` pass on both clocks, running every timer that falls due and all that it sets off. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#monotonicMs + ms;
    await this.settle();
    for (let next = this.#next(); next && next.atMs <= untilMs; next = this.#next()) {
      this.#pass(Math.max(next.atMs - this.#monotonicMs, 0));
      this.#pending.delete(next);
      next.callback();
      await this.settle();
    }
    this.#pass(Math.max(untilMs - this.#monotonicMs, 0));
  }

  /** Advances until `promise` settles, at most `limitMs`; gives its result, or throws what it rejects with. */
  async runUntil<T>(promise: Promise<T>, limitMs = 3_600_000): Promise<T> {
    let settled = false;
    const watch = promise.then(
      () => void (settled = true),
      () => void (settled = true),
    );
    const untilMs = this.#monotonicMs + limitMs;
    await this.settle();
    while (!settled) {
      const next = this.#next();
      if (!next || next.atMs > untilMs) throw new Error(`The promise was still pending after ${limitMs} virtual ms.`);
      await this.advance(Math.max(next.atMs - this.#monotonicMs, 0));
    }
    await watch;
    return await promise;
  }

  /** Lets time pass on both clocks while this process is frozen: no timer runs. They are late when it thaws, at the next `advance`. */
  freeze(ms: number): void {
    this.#pass(ms);
  }

  /** Suspends the machine: only the wall clock goes on. */
  suspend(ms: number): void {
    this.#wallMs += ms;
  }

  /** Sets the wall clock forward, or back. */
  jumpWall(ms: number): void {
    this.#wallMs += ms;
  }

  /** Runs everything that is ready to run without time passing. */
  async settle(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  #pass(ms: number): void {
    this.#monotonicMs += ms;
    this.#wallMs += ms;
  }

  #next(): Pending | undefined {
    let first: Pending | undefined;
    for (const pending of this.#pending) {
      if (!first || pending.atMs < first.atMs || (pending.atMs === first.atMs && pending.order < first.order)) first = pending;
    }
    return first;
  }
}
