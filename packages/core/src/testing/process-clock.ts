import type { Clock, Timer } from "../time/clock.ts";

/** Added to each timer, so that a rounding error cannot make it fire before its time by the process's own clock. */
const ROUNDING_MS = 1 / 1_024;

/** The differences between one process's clocks and the true time. */
export interface ProcessClockOptions {
  /** The milliseconds that pass on this process's clocks in one true millisecond. @defaultValue 1 */
  readonly rate?: number | undefined;
  /** The same for its wall clock alone. @defaultValue `rate` */
  readonly wallRate?: number | undefined;
  /** The initial lead of its wall clock over the true time. @defaultValue 0 */
  readonly wallOffsetMs?: number | undefined;
}

/** The clocks of one process, derived from another clock. The process can be killed, paused or suspended alone. */
export class ProcessClock implements Clock {
  readonly #world: Clock;
  readonly #rate: number;
  readonly #wallRate: number;
  readonly #wallOriginMs: number;
  #wallOffsetMs: number;
  /** The part of the true time that the monotonic clock has missed. */
  #missedMs = 0;
  #suspendedAtMs: number | undefined;
  #held: Array<() => void> | undefined;
  #alive = true;

  constructor(world: Clock, { rate = 1, wallRate = rate, wallOffsetMs = 0 }: ProcessClockOptions = {}) {
    this.#world = world;
    this.#rate = rate;
    this.#wallRate = wallRate;
    this.#wallOriginMs = world.wallMs();
    this.#wallOffsetMs = wallOffsetMs;
  }

  /** False once the process was killed. */
  get alive(): boolean {
    return this.#alive;
  }

  /** Reports whether the process runs now: it is alive, and neither paused nor suspended. */
  get running(): boolean {
    return this.#alive && this.#held === undefined;
  }

  monotonicMs(): number {
    return ((this.#suspendedAtMs ?? this.#world.monotonicMs()) - this.#missedMs) * this.#rate;
  }

  wallMs(): number {
    return this.#wallOriginMs + (this.#world.wallMs() - this.#wallOriginMs) * this.#wallRate + this.#wallOffsetMs;
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

  /** Runs a callback that reaches the process from outside, once the process runs. After a kill it never runs. */
  deliver(callback: () => void): void {
    if (this.#held) this.#held.push(callback);
    else if (this.#alive) callback();
  }

  jumpWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** Ends the process for good: none of its callbacks runs any more. */
  kill(): void {
    this.#alive = false;
  }

  /** Stops the process until {@link resume}: its callbacks wait, and its clocks go on. */
  pause(): void {
    this.#held ??= [];
  }

  /** As {@link pause}, but the monotonic clock stands still, too. */
  suspend(): void {
    this.pause();
    this.#suspendedAtMs ??= this.#world.monotonicMs();
  }

  /** Runs the callbacks that fell due meanwhile, in order. Returns the true time that the monotonic clock has missed. */
  resume(): number {
    const missedMs = this.#suspendedAtMs === undefined ? 0 : this.#world.monotonicMs() - this.#suspendedAtMs;
    this.#missedMs += missedMs;
    this.#suspendedAtMs = undefined;
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const callback of held) this.#world.setTimer(() => this.deliver(callback), 0);
    return missedMs;
  }
}
