import { isLeaseholdError } from "@leasehold/core";
import type { Clock, Journal } from "@leasehold/core/provider";

/** The failures in a row that cause a warning. A single failure may be a slow request or a broken connection. */
const TOLD_AT = 2;

/**
 * Warns that a member fails, and says when it answers again. The other members keep working, so a failure would otherwise stay
 * hidden until a second member fails.
 */
export class Health {
  /** The member's name and kind of store, for messages. */
  readonly #place: string;
  readonly #clock: Clock;
  readonly #journal: Journal;
  #failures = 0;
  #sinceMs = 0;

  constructor(place: string, clock: Clock, journal: Journal) {
    this.#place = place;
    this.#clock = clock;
    this.#journal = journal;
  }

  answered(): void {
    if (this.#failures >= TOLD_AT) {
      const forS = ((this.#clock.monotonicMs() - this.#sinceMs) / 1_000).toFixed(1);
      const message = `The quorum's member ${this.#place} answers again, after ${forS} s.`;
      this.#journal.warn("LEASEHOLD_MEMBER_RECOVERED", "info", message, { store: this.#place });
    }
    this.#failures = 0;
  }

  failed(error: unknown): void {
    if (this.#failures === 0) this.#sinceMs = this.#clock.monotonicMs();
    this.#failures += 1;
    if (this.#failures !== TOLD_AT) return;
    const why = isLeaseholdError(error) ? error.message : "It has thrown an error that is not Leasehold's.";
    const message = `The quorum's member ${this.#place} fails: ${why} The others go on as long as they are a majority.`;
    this.#journal.warn("LEASEHOLD_MEMBER_FAILED", "warn", message, { store: this.#place });
  }
}
