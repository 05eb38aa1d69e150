import type { Clock, Timer } from "../time/clock.ts";
import { SeededRandom } from "./seeded-random.ts";

interface Pending {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
  /** True if the callback starts nothing, so that nothing has to settle after it. */
  readonly idle: boolean;
  state: "waiting" | "cancelled" | "done";
}

/** A clock that moves only on command. Timers run in order. Everything that one timer starts runs before the next timer. */
export class VirtualClock implements Clock {
  readonly #random: SeededRandom;
  /** A binary heap with the earliest timer first. A cancelled timer stays until it comes up. */
  readonly #heap: Pending[] = [];
  #monotonicMs = 1_000;
  #wallMs = Date.UTC(2026, 0, 1);
  #order = 0;
  #waiting = 0;

  /** @param seed the seed of `random` and `randomUuid`. */
  constructor(seed = 1) {
    this.#random = new SeededRandom(seed);
  }

  /** The number of timers that are waiting; 0 once everything has been stopped. */
  get pendingTimers(): number {
    return this.#waiting;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    return this.#set(callback, delayMs, false);
  }

  /** As {@link setTimer}, for a callback on which no promise depends. A step that runs it waits for no turn of the event loop. */
  setIdleTimer(callback: () => void, delayMs: number): Timer {
    return this.#set(callback, delayMs, true);
  }

  random(): number {
    return this.#random.next();
  }

  randomUuid(): string {
    const digits = (number: number): string => number.toString(16).padStart(4, "0");
    const hex = (): string => {
      const bits = (this.#random.next() * 4_294_967_296) >>> 0;
      // In halves, because V8 takes ten times as long to print a number that is not a small integer.
      return digits(bits >>> 16) + digits(bits & 0xffff);
    };
    const [a, b, c, d] = [hex(), hex(), hex(), hex()];
    return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-8${c.slice(1, 4)}-${c.slice(4)}${d}`;
  }

  /** Lets `ms` pass on both clocks. Runs every timer that falls due, and everything that it starts. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#monotonicMs + ms;
    await this.settle();
    while (await this.step(untilMs));
    this.#pass(Math.max(untilMs - this.#monotonicMs, 0));
  }

  /** Lets time pass until the next timer, and runs it. If none falls due by `untilMs`, does nothing and returns false. */
  async step(untilMs: number = Infinity): Promise<boolean> {
    const next = this.#next();
    if (!next || next.atMs > untilMs) return false;
    this.#pop();
    this.#pass(Math.max(next.atMs - this.#monotonicMs, 0));
    next.state = "done";
    this.#waiting -= 1;
    next.callback();
    if (!next.idle) await this.settle();
    return true;
  }

  /** Advances until `promise` settles, and returns its result. @throws an error if it is still pending after `limitMs`. */
  async runUntil<T>(promise: Promise<T>, limitMs = 3_600_000): Promise<T> {
    let settled = false;
    const watch = promise.then(
      () => void (settled = true),
      () => void (settled = true),
    );
    const untilMs = this.#monotonicMs + limitMs;
    await this.settle();
    while (!settled) {
      if (!(await this.step(untilMs))) throw new Error(`The promise was still pending after ${limitMs} virtual ms.`);
    }
    await watch;
    return await promise;
  }

  /** Lets time pass on both clocks while this process is frozen: no timer runs. The timers run late, at the next `advance`. */
  freeze(ms: number): void {
    this.#pass(ms);
  }

  /** Suspends the machine: only the wall clock moves. */
  suspend(ms: number): void {
    this.#wallMs += ms;
  }

  jumpWall(ms: number): void {
    this.#wallMs += ms;
  }

  /** Runs everything that is ready to run, without letting time pass. */
  async settle(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  #set(callback: () => void, delayMs: number, idle: boolean): Timer {
    this.#order += 1;
    let atMs = this.#monotonicMs + Math.max(delayMs, 0);
    // Rounding must not make the timer early. Otherwise a deadline that is almost reached would be set again for ever.
    if (atMs - this.#monotonicMs < delayMs) atMs += atMs * Number.EPSILON;
    const pending: Pending = { atMs, order: this.#order, callback, idle, state: "waiting" };
    this.#push(pending);
    this.#waiting += 1;
    return {
      cancel: () => {
        if (pending.state !== "waiting") return;
        pending.state = "cancelled";
        this.#waiting -= 1;
      },
    };
  }

  #pass(ms: number): void {
    this.#monotonicMs += ms;
    this.#wallMs += ms;
  }

  #next(): Pending | undefined {
    while (this.#heap[0]?.state === "cancelled") this.#pop();
    return this.#heap[0];
  }

  #push(pending: Pending): void {
    const heap = this.#heap;
    let index = heap.length;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Pending;
      if (isBefore(above, pending)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = pending;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Pending, heap[child] as Pending)) child += 1;
      const below = heap[child] as Pending;
      if (isBefore(last, below)) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(one: Pending, other: Pending): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
