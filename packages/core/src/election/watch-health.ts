import type { Journal } from "../reporting/journal.ts";
import type { LeaseStore } from "../store/lease-store.ts";

/** The watches count as deaf after this many in a row ended without announcing a change that polls showed. */
const MISSED_IN_A_ROW = 2;

/** Records whether the watches of one store announce changes. A gateway or a pooler may silently stop notifications. */
export class WatchHealth {
  readonly watches: Set<{ renewWatch(): void }> = new Set();
  /** True if polls have shown changes that no watch announced, and no watch has announced a change since. */
  isDeaf = false;
  readonly #reportedTo = new Set<Journal>();
  #missedInARow = 0;

  heard(): void {
    this.#missedInARow = 0;
    this.isDeaf = false;
    this.#reportedTo.clear();
  }

  /** Called when a watch ends before it announced a change that a poll showed. The announcement may have been on its way. */
  missed(): void {
    this.#missedInARow += 1;
    if (this.#missedInARow >= MISSED_IN_A_ROW) this.isFoundDeaf();
  }

  /** Called when a watch has stayed silent. Restarts all watches of the store, because they may share one connection. */
  isFoundDeaf(): void {
    this.isDeaf = true;
    for (const watch of this.watches) watch.renewWatch();
  }

  report({ store, election, journal }: Readonly<{ store: LeaseStore; election: string; journal: Journal }>): void {
    if (this.#reportedTo.has(journal)) return;
    this.#reportedTo.add(journal);
    const text =
      `The ${store.name} store does not push: polls have found changes of '${election}' that its watch did not announce. The watch is ` +
      "restarted. Until it announces a change, standbys poll every retryPeriodMs. On PostgreSQL, a pooler that shares connections by transaction " +
      "(PgBouncer, Supabase on port 6543) lets no notification through: give the store a direct connection.";
    journal.warn("LEASEHOLD_WATCH_DEAF", "warn", text, { store: store.name, election });
  }
}
