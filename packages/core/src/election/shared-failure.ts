import { asSentence } from "../reporting/discreet.ts";
import type { Journal } from "../reporting/journal.ts";
import { toldError } from "../reporting/told-error.ts";
import type { Clock } from "../time/clock.ts";

/** Somebody whom a failure has met, and who wants it to be known. */
export interface Reporter {
  readonly journal: Journal;
  readonly election: string;
  /** A failure that lasts for so long is reported again. */
  readonly leaseDurationMs: number;
  /** What becomes of the call, where that is not to go on trying. */
  readonly consequence?: string | undefined;
}

/** A failure that follows a recovery sooner than this is reported only if it lasts: a store that comes and goes is one matter. */
const QUIET_MS = 60_000;

/**
 * One way in which a store fails, which may meet many of a process at the same time. It is reported when it begins, when it has
 * lasted for a lease, and when it meets nobody any more: once for each logger, however many it meets.
 */
export class SharedFailure {
  readonly #storeName: string;
  readonly #clock: Clock;
  readonly #met = new Set<object>();
  /** Who has been told of it, and whether that it lasts, too. */
  readonly #told = new Map<Journal, "begun" | "lasting">();
  #sinceMs = 0;
  #overMs = -Infinity;

  constructor(storeName: string, clock: Clock) {
    this.#storeName = storeName;
    this.#clock = clock;
  }

  meets(whom: object): void {
    if (this.#met.size === 0) this.#sinceMs = this.#clock.monotonicMs();
    this.#met.add(whom);
  }

  /** The store has answered somebody. */
  spares(whom: object): void {
    if (!this.#met.delete(whom) || this.#met.size > 0) return;
    const lastedMs = this.#clock.monotonicMs() - this.#sinceMs;
    for (const journal of this.#told.keys()) {
      const attributes = { store: this.#storeName, lastedMs: Math.round(lastedMs) };
      const text = `The ${this.#storeName} store answers again, after ${seconds(lastedMs)}.`;
      journal.warn("LEASEHOLD_STORE_RECOVERED", "info", text, attributes);
    }
    this.#end();
  }

  /** Somebody asks the store no more: whether it would answer is not known. */
  loses(whom: object): void {
    if (this.#met.delete(whom) && this.#met.size === 0) this.#end();
  }

  /** Says what is new about it: that it has begun, or that it lasts. */
  report(error: unknown, { journal, election, leaseDurationMs, consequence }: Reporter): void {
    const lastedMs = this.#clock.monotonicMs() - this.#sinceMs;
    const { code, message } = toldError(error);
    const attributes = { store: this.#storeName, election, code, error: message, lastedMs: Math.round(lastedMs) };
    if (lastedMs >= leaseDurationMs && this.#told.get(journal) !== "lasting") {
      this.#told.set(journal, "lasting");
      const text = `The store still fails, for ${seconds(lastedMs)} now. ${message}`;
      journal.warn("LEASEHOLD_STORE_STILL_FAILING", "error", text, attributes);
    } else if (!this.#told.has(journal) && this.#sinceMs - this.#overMs >= QUIET_MS) {
      this.#told.set(journal, "begun");
      const then = consequence ?? "It is asked again until it answers; a leader that cannot renew steps down in time.";
      journal.warn("LEASEHOLD_STORE_FAILED", "warn", `${asSentence(message)} ${then}`, attributes);
    }
  }

  #end(): void {
    if (this.#told.size > 0) this.#overMs = this.#clock.monotonicMs();
    this.#told.clear();
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
