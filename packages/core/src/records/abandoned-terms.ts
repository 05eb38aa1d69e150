import type { Clock } from "../time/clock.ts";
import { ExpiringMap } from "../time/expiring-map.ts";
import type { StoredRecord, LeaseRecord } from "./record-store.ts";

/** The time after which no failover brings an earlier version back, in milliseconds. */
const VERSIONS_RETURN_MS = 900_000;

interface Abandoned {
  /** The version that the last write was conditional on; `undefined`: no record was to exist. */
  readonly condition: string | undefined;
  readonly sinceMs: number;
  readonly heldUntilMs: number;
}

/** The terms of this process on which nobody leads, because a reply was lost. A lease of such a term counts as vacant. */
export class AbandonedTerms {
  readonly #clock: Clock;
  readonly #versionsReturn: boolean;
  /** By election, then by `termId`. */
  readonly #terms: ExpiringMap<Map<string, Abandoned>>;

  /** @param versionsReturn true where a failover may bring a version back that had passed. */
  constructor(clock: Clock, versionsReturn = false) {
    this.#clock = clock;
    this.#versionsReturn = versionsReturn;
    this.#terms = new ExpiringMap(clock);
  }

  /** Adds a term whose last write was conditional on `condition`. No candidate may acquire for `holdMs` more. */
  add(election: string, termId: string, condition: string | undefined, holdMs = 0): void {
    const terms = this.#terms.get(election) ?? new Map<string, Abandoned>();
    const sinceMs = this.#clock.monotonicMs();
    this.#terms.set(election, terms.set(termId, { condition, sinceMs, heldUntilMs: sinceMs + holdMs }));
  }

  /** Returns the rest of the hold of the record's term, in milliseconds; `undefined` unless that term was abandoned. */
  holdMs(election: string, { termId }: LeaseRecord): number | undefined {
    const abandoned = termId === null ? undefined : this.#terms.get(election)?.get(termId);
    return abandoned && abandoned.heldUntilMs - this.#clock.monotonicMs();
  }

  /** Drops the terms that can no longer appear: the version for their last write has passed, and cannot return. */
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
