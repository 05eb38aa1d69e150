import { systemClock, type Elector, type Timer } from "@leasehold/core";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";

/** The end of a wait to lead. */
export class TimeUp {
  readonly #controller = new AbortController();
  readonly #timer: Timer | undefined;
  readonly #forgetFailures: () => void;
  #failure: Error | undefined;

  /** @param waitMs undefined: it never comes. */
  constructor(elector: Elector, waitMs: number | undefined) {
    this.#forgetFailures = elector.on("storeFailed", ({ error }) => {
      this.#failure = error instanceof Error ? error : new Error(String(error));
    });
    if (waitMs === undefined) return;
    this.#timer = systemClock.setTimer(() => {
      const { lastContactAgeMs, lastError } = elector.health();
      if (lastContactAgeMs === undefined) this.#failure ??= new Failure(EXIT.store, "the store has not answered in time.");
      // One that has answered since is no reason any more.
      else if (lastError === undefined) this.#failure = undefined;
      this.#controller.abort();
    }, waitMs);
  }

  /** Aborts when the time is up. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** @throws the store's failure, if that is why nobody was elected in time. */
  end(): undefined {
    if (this.#failure !== undefined) throw this.#failure;
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#forgetFailures();
  }
}
