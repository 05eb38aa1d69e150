import type { Clock, LeaseStore, Timer } from "@leasehold/core";
import { MovableClock } from "../clocks/movable-clock.ts";

/** A timer of more than this limits a request: whoever waits between two of them waits less. */
const LONGEST_WAIT_MS = 1_000;

/** A service whose clock can be moved, and runs by itself as well. */
interface Movable {
  advance(ms: number): Promise<void>;
}

export interface StoreOptions {
  /** Asked whenever the store sends a request: resolves once it has come as far as it will; `undefined` where it will be answered. */
  readonly farthest?: (() => Promise<unknown> | undefined) | undefined;
  /** That of its process. @defaultValue the one that everybody counts by */
  readonly clock?: Clock | undefined;
}

/** The time of a place: it is moved, or real. */
export interface PlaceTime {
  readonly clock: Clock;
  /** A store that goes by it. */
  store<Store extends LeaseStore>(make: (clock: Clock) => Store, options?: StoreOptions): Store;
  pass(ms: number): Promise<void>;
  stop(): void;
}

/**
 * The time of a service and of the stores that use it: it runs like the system's, and can be moved besides, on both
 * sides alike. It never is while a request is under way that is about to be answered.
 */
export class MovedTime {
  readonly #service: Movable;
  readonly #clock = new MovableClock();
  /** The requests to wait for. */
  readonly #awaited = new Set<object>();

  constructor(service: Movable) {
    this.#service = service;
    // Else the service's clock, which does, would be seen to step.
    this.#clock.run();
  }

  /** The clock that everybody counts by. */
  get clock(): Clock {
    return this.#clock;
  }

  /** A store whose requests are waited for: its own clock tells their time limits from all other timers of its process. */
  store<Store extends LeaseStore>(
    make: (clock: Clock) => Store,
    { farthest = () => undefined, clock = this.#clock }: StoreOptions = {},
  ): Store {
    // Its electors' timers are no requests.
    return Object.defineProperty(make(this.#storeClock(farthest, clock)), "clock", { value: clock });
  }

  #storeClock(farthest: () => Promise<unknown> | undefined, clock: Clock): Clock {
    return {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs(),
      random: () => clock.random(),
      randomUuid: () => clock.randomUuid(),
      setTimer: (callback, delayMs) => {
        if (delayMs <= LONGEST_WAIT_MS) return clock.setTimer(callback, delayMs);
        return this.#await(farthest(), (settled) => {
          const timeIsUp = (): void => {
            settled();
            callback();
          };
          return clock.setTimer(timeIsUp, delayMs);
        });
      },
    };
  }

  /** Lets `ms` pass, stopping at each timer to let everything run that it sets off. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + ms;
    for (;;) {
      await this.#quiet();
      const leftMs = untilMs - this.#clock.monotonicMs();
      if (leftMs <= 0) return;
      const stepMs = Math.min(this.#clock.nextTimerInMs ?? Infinity, leftMs);
      await this.#service.advance(stepMs);
      this.#clock.forward(stepMs);
    }
  }

  /** Cancels every timer: whatever still waits for one goes no further. */
  stop(): void {
    this.#clock.stop();
  }

  /** Time is not moved until a request has come as far as it will, or until the function is called that this returns. */
  awaiting(farthest: Promise<unknown> | undefined): () => void {
    const request = {};
    const settled = (): void => void this.#awaited.delete(request);
    this.#awaited.add(request);
    farthest?.then(settled, settled);
    return settled;
  }

  #await(farthest: Promise<unknown> | undefined, limit: (settled: () => void) => Timer): Timer {
    const settled = this.awaiting(farthest);
    const timer = limit(settled);
    return {
      cancel: () => {
        settled();
        timer.cancel();
      },
    };
  }

  async #quiet(): Promise<void> {
    do await eventLoopTurn();
    while (this.#awaited.size > 0);
  }
}

async function eventLoopTurn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
