import type { Clock } from "../time/clock.ts";
import { Recent } from "../time/recent.ts";
import type { StoredRecord, LeaseRecord } from "./record-store.ts";

/** The time after which no failover brings a version back. */
const VERSIONS_RETURN_MS = 900_000;

/** The version that a write was conditional on; `undefined`: there was to be none. */
export type Condition = string | undefined;

interface Abandoned {
  /** That of its last write. */
  readonly condition: Condition;
  readonly sinceMs: number;
  /** The end of its hold, by the monotonic clock. */
  readonly heldUntilMs: number;
}

/**
 * The terms of this process on which nobody leads (any more), because the reply to their acquisition was lost or their
 * release may have been. Found in the store, they count as vacant.
 */
export class AbandonedTerms {
  readonly #clock: Clock;
  readonly #versionsReturn: boolean;
  /** By election and termId. */
  readonly #terms: Recent<Map<string, Abandoned>>;

  /** @param versionsReturn true where a failover may bring a version back that had passed. */
  constructor(clock: Clock, versionsReturn = false) {
    this.#clock = clock;
    this.#versionsReturn = versionsReturn;
    this.#terms = new Recent(clock);
  }

  /** Adds a term whose last write had that condition; nobody may acquire for `holdMs` more. */
  add(election: string, termId: string, condition: Condition, holdMs = 0): void {
    const terms = this.#terms.get(election) ?? new Map<string, Abandoned>();
    const sinceMs = this.#clock.monotonicMs();
    this.#terms.set(election, terms.set(termId, { condition, sinceMs, heldUntilMs: sinceMs + holdMs }));
  }

  /** Returns what is left of the hold of the record's term; `undefined` unless that term was abandoned. */
  holdMs(election: string, { termId }: LeaseRecord): number | undefined {
    const abandoned = termId === null ? undefined : this.#terms.get(election)?.get(termId);
    return abandoned && abandoned.heldUntilMs - this.#clock.monotonicMs();
  }

  /**
   * Lets go of the terms that can no longer be found: a write conditional on a version that has passed never arrives. Where versions
   * return, a term is kept as long as that may be.
   */
  settle(election: string, { termId }: LeaseRecord, { version }: StoredRecord): void {
    const terms = this.#terms.get(election);
    for (const [id, abandoned] of terms ?? []) {
      const { condition, sinceMs } = abandoned;
      if (termId === id || condition === version) continue;
      const mayReturn = this.#versionsReturn && this.#clock.monotonicMs() - sinceMs < VERSIONS_RETURN_MS;
      if (!mayReturn) terms?.delete(id);
    }
    if (terms?.size === 0) this.#terms.delete(election);
  }
}
