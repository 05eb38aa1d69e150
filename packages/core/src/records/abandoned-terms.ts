import type { Clock } from "../time/clock.ts";
import { Recent } from "../time/recent.ts";
import type { StoredRecord, LeaseRecord } from "./record-store.ts";

interface Abandoned {
  /** The version that its last write was conditional on. */
  readonly ifVersion: string | undefined;
  /** The end of its hold, by the monotonic clock. */
  readonly heldUntilMs: number;
}

/**
 * The terms of this process on which nobody leads (any more), because the reply to their acquisition was lost or their
 * release may have been. Found in the store, they count as vacant.
 */
export class AbandonedTerms {
  readonly #clock: Clock;
  /** By election and termId. */
  readonly #terms: Recent<Map<string, Abandoned>>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#terms = new Recent(clock);
  }

  /** Adds a term whose last write was conditional on `ifVersion`; nobody may acquire for `holdMs` more. */
  add(election: string, termId: string, ifVersion: string | undefined, holdMs = 0): void {
    const terms = this.#terms.get(election) ?? new Map<string, Abandoned>();
    this.#terms.set(election, terms.set(termId, { ifVersion, heldUntilMs: this.#clock.monotonicMs() + holdMs }));
  }

  /** Returns what is left of the hold of the record's term; `undefined` unless that term was abandoned. */
  holdMs(election: string, { termId }: LeaseRecord): number | undefined {
    const abandoned = termId === null ? undefined : this.#terms.get(election)?.get(termId);
    return abandoned && abandoned.heldUntilMs - this.#clock.monotonicMs();
  }

  /** Lets go of the terms that can no longer be found: a write conditional on a version that has passed never arrives. */
  settle(election: string, { termId }: LeaseRecord, { version }: StoredRecord): void {
    const terms = this.#terms.get(election);
    for (const [id, { ifVersion }] of terms ?? []) {
      if (version !== ifVersion && termId !== id) terms?.delete(id);
    }
    if (terms?.size === 0) this.#terms.delete(election);
  }
}
