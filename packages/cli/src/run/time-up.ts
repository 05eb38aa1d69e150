import { systemClock, type Timer } from "@leasehold/core/provider";
import type { Elector } from "@leasehold/core";
import { EXIT, CommandError } from "../exit-codes.ts";

/** Limits the wait to lead, and keeps the store's last failure during the wait. */
export class TimeUp {
  readonly #controller = new AbortController();
  readonly #timer: Timer | undefined;
  readonly #forgetFailures: () => void;
  #failure: Error | undefined;

  /** @param waitMs the longest wait. Undefined: no limit. */
  constructor(elector: Elector, waitMs: number | undefined) {
    this.#forgetFailures = elector.on("storeFailed", ({ error }) => {
      this.#failure = error instanceof Error ? error : new Error(String(error));
    });
    if (waitMs === undefined) return;
    this.#timer = systemClock.setTimer(() => {
      const { lastContactAgeMs, lastError } = elector.health();
      if (lastContactAgeMs === undefined) this.#failure ??= new CommandError(EXIT.store, "the store has not answered in time.");
      // If the store has answered since, its failure is no longer the reason.
      else if (lastError === undefined) this.#failure = undefined;
      this.#controller.abort();
    }, waitMs);
  }

  /** Aborts when the time is up. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** @throws the store's failure, if that is the reason why this candidate was not elected in time. */
  end(): undefined {
    if (this.#failure !== undefined) throw this.#failure;
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#forgetFailures();
  }
}
