import { isLeaseholdError, type Clock } from "@leasehold/core";
import type { Journal } from "@leasehold/core/provider";

/** How many failures in a row are told: one alone is a request that was slow, or a connection that broke. */
const TOLD_AT = 2;

/** Tells that a member fails: nothing else shows it, since the others go on, until a second one fails. */
export class Health {
  /** The member, for people. */
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
    const why = isLeaseholdError(error) ? error.message : "It has thrown what is no error of Leasehold's.";
    const message = `The quorum's member ${this.#place} fails: ${why} The others go on as long as they are a majority.`;
    this.#journal.warn("LEASEHOLD_MEMBER_FAILED", "warn", message, { store: this.#place });
  }
}
