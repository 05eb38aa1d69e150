import type { Clock, Timer } from "@leasehold/core";
import type { VirtualClock } from "@leasehold/core/testing";

/** Keeps a timer from firing a rounding error before its time by the process's own clock. */
const ROUNDING_MS = 1 / 1_024;

/** How the clocks of one process differ from the true time. */
export interface ProcessClockOptions {
  /** Milliseconds that pass on this process's clocks in one true millisecond. */
  readonly rate?: number;
  readonly wallOffsetMs?: number;
}

/** The clocks of one process among several that share a virtual clock, and the means to kill, pause or suspend that process alone. */
export class ProcessClock implements Clock {
  readonly #world: VirtualClock;
  readonly #rate: number;
  #wallOffsetMs: number;
  /** How much of the true time the monotonic clock has missed. */
  #missedMs = 0;
  #suspendedAtMs: number | undefined;
  #held: Array<() => void> | undefined;
  #alive = true;

  constructor(world: VirtualClock, { rate = 1, wallOffsetMs = 0 }: ProcessClockOptions = {}) {
    this.#world = world;
    this.#rate = rate;
    this.#wallOffsetMs = wallOffsetMs;
  }

  get alive(): boolean {
    return this.#alive;
  }

  monotonicMs(): number {
    return ((this.#suspendedAtMs ?? this.#world.monotonicMs()) - this.#missedMs) * this.#rate;
  }

  wallMs(): number {
    return this.#world.wallMs() * this.#rate + this.#wallOffsetMs;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const dueMs = this.monotonicMs() + Math.max(delayMs, 0);
    let cancelled = false;
    let timer: Timer;
    const fire = (): void => {
      if (cancelled || !this.#alive) return;
      if (this.#held) this.#held.push(fire);
      else if (this.monotonicMs() < dueMs) arm();
      else callback();
    };
    const arm = (): void => {
      timer = this.#world.setTimer(fire, (dueMs - this.monotonicMs()) / this.#rate + ROUNDING_MS);
    };
    arm();
    return {
      cancel: () => {
        cancelled = true;
        timer.cancel();
      },
    };
  }

  random(): number {
    return this.#world.random();
  }

  randomUuid(): string {
    return this.#world.randomUuid();
  }

  jumpWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** Nothing of this process runs any more. */
  kill(): void {
    this.#alive = false;
  }

  /** Nothing of this process runs until {@link resume}; its clocks go on. */
  pause(): void {
    this.#held ??= [];
  }

  /** As {@link pause}, and its monotonic clock stands still. */
  suspend(): void {
    this.pause();
    this.#suspendedAtMs ??= this.#world.monotonicMs();
  }

  resume(): void {
    if (this.#suspendedAtMs !== undefined) this.#missedMs += this.#world.monotonicMs() - this.#suspendedAtMs;
    this.#suspendedAtMs = undefined;
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const run of held) run();
  }
}
