import type { Clock, Timer } from "@leasehold/core/provider";
import type { LeaseStore } from "@leasehold/core";
import { MovableClock } from "../clocks/movable-clock.ts";

/** A timer that is longer than this is the time limit of a request; the wait between two requests is shorter. */
const LONGEST_WAIT_MS = 1_000;

/** A service whose clock can be moved, and that also runs by itself. */
interface Movable {
  advance(ms: number): Promise<void>;
}

export interface StoreOptions {
  /**
   * Called for each request of the store. Resolves once the request cannot get any further; `undefined` if it will be answered.
   */
  readonly farthest?: (() => Promise<unknown> | undefined) | undefined;
  /** The clock of its process. @defaultValue the clock of the place */
  readonly clock?: Clock | undefined;
}

/** The time of a place, which is either moved or real. */
export interface PlaceTime {
  readonly clock: Clock;
  /** Returns a store that uses this time. */
  store<Store extends LeaseStore>(make: (clock: Clock) => Store, options?: StoreOptions): Store;
  pass(ms: number): Promise<void>;
  stop(): void;
}

/**
 * The time of a service and of the stores that use it. It runs like the system's, and can also be moved, on both sides by the
 * same amount. It is never moved while a request is about to be answered.
 */
export class MovedTime {
  readonly #service: Movable;
  readonly #clock = new MovableClock();
  /** The requests to wait for. */
  readonly #awaited = new Set<object>();

  constructor(service: Movable) {
    this.#service = service;
    // The service's clock runs. If this one did not, the service's clock would seem to step.
    this.#clock.run();
  }

  /** The clock that all stores and electors use. */
  get clock(): Clock {
    return this.#clock;
  }

  /**
   * Returns a store whose requests are waited for. Its own clock distinguishes their time limits from all other timers of its
   * process.
   */
  store<Store extends LeaseStore>(
    make: (clock: Clock) => Store,
    { farthest = () => undefined, clock = this.#clock }: StoreOptions = {},
  ): Store {
    // The timers of its electors are not requests.
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

  /** Lets `ms` pass, and stops at each timer to run everything that it starts. */
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

  /** Cancels every timer, so that nothing that waits for one continues. */
  stop(): void {
    this.#clock.stop();
  }

  /** Blocks the movement of time until a request cannot get any further, or until the returned function is called. */
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
