import type { Clock, Timer } from "@leasehold/core/provider";

interface Pending {
  readonly atMs: number;
  readonly callback: () => void;
  handle: NodeJS.Timeout | undefined;
}

/**
 * A clock that a test sets forward. By default it does not run, so that no request is slow, whatever else the machine does. It
 * can also run like the system's clock, for tests in which a service's own clock takes part.
 */
export class MovableClock implements Clock {
  readonly #startMonotonicMs = performance.now();
  readonly #startWallMs = Date.now();
  readonly #timers = new Set<Pending>();
  #runs = false;
  #movedMs = 0;
  #wallJumpMs = 0;

  /** Makes it run. Call it before the clock is read for the first time. */
  run(): void {
    this.#runs = true;
  }

  monotonicMs(): number {
    return (this.#runs ? performance.now() : this.#startMonotonicMs) + this.#movedMs;
  }

  wallMs(): number {
    return (this.#runs ? Date.now() : this.#startWallMs) + this.#movedMs + this.#wallJumpMs;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const pending: Pending = { atMs: this.monotonicMs() + Math.max(delayMs, 0), callback, handle: undefined };
    this.#timers.add(pending);
    if (this.#runs) this.#arm(pending);
    return {
      cancel: () => {
        clearTimeout(pending.handle);
        this.#timers.delete(pending);
      },
    };
  }

  random(): number {
    return Math.random();
  }

  randomUuid(): string {
    return crypto.randomUUID();
  }

  /** The time until the next timer is due; `undefined` if none is set. */
  get nextTimerInMs(): number | undefined {
    const [next] = this.#inOrder();
    return next && Math.max(next.atMs - this.monotonicMs(), 0);
  }

  /** Lets `ms` pass. The timers that become due run in the order of their times. */
  forward(ms: number): void {
    this.freeze(ms);
    for (const pending of this.#inOrder()) {
      // A timer that ran before may have cancelled this one.
      if (!this.#timers.has(pending)) continue;
      if (pending.atMs > this.monotonicMs()) {
        if (this.#runs) this.#arm(pending);
        continue;
      }
      clearTimeout(pending.handle);
      this.#timers.delete(pending);
      pending.callback();
    }
  }

  /** Lets `ms` pass while this process is frozen. Its timers are late, and run when time passes again. */
  freeze(ms: number): void {
    this.#movedMs += ms;
  }

  /** Sets only the wall clock forward or back, as after a suspension of the machine. */
  jumpWall(ms: number): void {
    this.#wallJumpMs += ms;
  }

  /** Cancels every timer, so that nothing that waits for one continues. */
  stop(): void {
    for (const { handle } of this.#timers) clearTimeout(handle);
    this.#timers.clear();
  }

  #inOrder(): Pending[] {
    return [...this.#timers].toSorted((a, b) => a.atMs - b.atMs);
  }

  #arm(pending: Pending): void {
    clearTimeout(pending.handle);
    const run = (): void => {
      this.#timers.delete(pending);
      pending.callback();
    };
    // Node's timers may run up to a millisecond early by performance.now().
    pending.handle = setTimeout(run, Math.ceil(Math.max(pending.atMs - this.monotonicMs(), 0)) + 1);
  }
}
