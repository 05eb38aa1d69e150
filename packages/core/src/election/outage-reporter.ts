import { asSentence, summarizeError } from "../reporting/redact.ts";
import type { Journal } from "../reporting/journal.ts";
import type { Clock } from "../time/clock.ts";

export interface Reporter {
  readonly journal: Journal;
  readonly election: string;
  /** A failure that lasts this long is reported again. */
  readonly leaseDurationMs: number;
  readonly consequence?: string | undefined;
}

/** A failure within this time of a recovery is reported only if it lasts. So a store that comes and goes is reported once. */
const QUIET_MS = 60_000;

/** One kind of failure of a store, for all users of a process. Each logger learns once that it began, lasts, and is over. */
export class OutageReporter {
  readonly #storeName: string;
  readonly #clock: Clock;
  readonly #affected = new Set<object>();
  readonly #reported = new Map<Journal, "begun" | "lasting">();
  #sinceMs = 0;
  #overMs = -Infinity;

  constructor(storeName: string, clock: Clock) {
    this.#storeName = storeName;
    this.#clock = clock;
  }

  began(user: object): void {
    if (this.#affected.size === 0) this.#sinceMs = this.#clock.monotonicMs();
    this.#affected.add(user);
  }

  /** Called when the store has answered `user`. Reports the recovery if nobody is affected any more. */
  recovered(user: object): void {
    if (!this.#affected.delete(user) || this.#affected.size > 0) return;
    const lastedMs = this.#clock.monotonicMs() - this.#sinceMs;
    for (const journal of this.#reported.keys()) {
      const attributes = { store: this.#storeName, lastedMs: Math.round(lastedMs) };
      const text = `The ${this.#storeName} store answers again, after ${seconds(lastedMs)}.`;
      journal.warn("LEASEHOLD_STORE_RECOVERED", "info", text, attributes);
    }
    this.#end();
  }

  /** Called when `user` stops using the store. No recovery is reported, because the store may still fail. */
  dropped(user: object): void {
    if (this.#affected.delete(user) && this.#affected.size === 0) this.#end();
  }

  report(error: unknown, { journal, election, leaseDurationMs, consequence }: Reporter): void {
    const lastedMs = this.#clock.monotonicMs() - this.#sinceMs;
    const { code, message } = summarizeError(error);
    const attributes = { store: this.#storeName, election, code, error: message, lastedMs: Math.round(lastedMs) };
    if (lastedMs >= leaseDurationMs && this.#reported.get(journal) !== "lasting") {
      this.#reported.set(journal, "lasting");
      const text = `The store still fails, for ${seconds(lastedMs)} now. ${message}`;
      journal.warn("LEASEHOLD_STORE_STILL_FAILING", "error", text, attributes);
    } else if (!this.#reported.has(journal) && this.#sinceMs - this.#overMs >= QUIET_MS) {
      this.#reported.set(journal, "begun");
      const then = consequence ?? "Requests are repeated until the store answers; a leader that cannot renew steps down in time.";
      journal.warn("LEASEHOLD_STORE_FAILED", "warn", `${asSentence(message)} ${then}`, attributes);
    }
  }

  #end(): void {
    if (this.#reported.size > 0) this.#overMs = this.#clock.monotonicMs();
    this.#reported.clear();
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
