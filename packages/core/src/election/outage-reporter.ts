import { asSentence } from "../reporting/redact.ts";
import type { Journal } from "../reporting/journal.ts";
import { summarizeError } from "../reporting/error-summary.ts";
import type { Clock } from "../time/clock.ts";

/** An elector or observer that a failure affects, and that wants it to be reported. */
export interface Reporter {
  readonly journal: Journal;
  readonly election: string;
  /** A failure that lasts this long is reported again. */
  readonly leaseDurationMs: number;
  /** The consequence for the call, if it does not just go on trying. */
  readonly consequence?: string | undefined;
}

/**
 * A failure that follows a recovery sooner than this is reported only if it lasts. So a store that comes and goes is reported
 * once.
 */
const QUIET_MS = 60_000;

/**
 * One way in which a store fails. It may affect many electors and observers of a process at the same time.
 *
 * It is reported when it begins, when it has lasted for a lease, and when it affects nobody any more. Each logger gets each
 * report once, even if several of its electors are affected.
 */
export class OutageReporter {
  readonly #storeName: string;
  readonly #clock: Clock;
  readonly #met = new Set<object>();
  /** The loggers that have a report of it, and the last report that each one has. */
  readonly #told = new Map<Journal, "begun" | "lasting">();
  #sinceMs = 0;
  #overMs = -Infinity;

  constructor(storeName: string, clock: Clock) {
    this.#storeName = storeName;
    this.#clock = clock;
  }

  began(whom: object): void {
    if (this.#met.size === 0) this.#sinceMs = this.#clock.monotonicMs();
    this.#met.add(whom);
  }

  /** Called when the store has answered `whom`. Reports the recovery if nobody is affected any more. */
  recovered(whom: object): void {
    if (!this.#met.delete(whom) || this.#met.size > 0) return;
    const lastedMs = this.#clock.monotonicMs() - this.#sinceMs;
    for (const journal of this.#told.keys()) {
      const attributes = { store: this.#storeName, lastedMs: Math.round(lastedMs) };
      const text = `The ${this.#storeName} store answers again, after ${seconds(lastedMs)}.`;
      journal.warn("LEASEHOLD_STORE_RECOVERED", "info", text, attributes);
    }
    this.#end();
  }

  /** Called when `whom` asks the store no more. No recovery is reported, because the store may still fail. */
  dropped(whom: object): void {
    if (this.#met.delete(whom) && this.#met.size === 0) this.#end();
  }

  /** Reports what is new about it: that it has begun, or that it lasts. */
  report(error: unknown, { journal, election, leaseDurationMs, consequence }: Reporter): void {
    const lastedMs = this.#clock.monotonicMs() - this.#sinceMs;
    const { code, message } = summarizeError(error);
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
