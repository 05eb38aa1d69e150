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

/** The clocks of one process among several that share a virtual clock, and the means to kill or pause that process alone. */
export class ProcessClock implements Clock {
  readonly #world: VirtualClock;
  readonly #rate: number;
  #wallOffsetMs: number;
  #alive = true;
  #held: Array<() => void> | undefined;

  constructor(world: VirtualClock, { rate = 1, wallOffsetMs = 0 }: ProcessClockOptions = {}) {
    this.#world = world;
    this.#rate = rate;
    this.#wallOffsetMs = wallOffsetMs;
  }

  monotonicMs(): number {
    return this.#world.monotonicMs() * this.#rate;
  }

  wallMs(): number {
    return this.#world.wallMs() * this.#rate + this.#wallOffsetMs;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    let cancelled = false;
    const timer = this.#world.setTimer(
      () => {
        const run = (): void => {
          if (!cancelled) callback();
        };
        if (this.#held) this.#held.push(run);
        else if (this.#alive) run();
      },
      delayMs / this.#rate + ROUNDING_MS,
    );
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

  resume(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const run of held) run();
  }
}
