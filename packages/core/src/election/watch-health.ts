import type { Journal } from "../reporting/journal.ts";
import type { LeaseStore } from "../store/lease-store.ts";

/** So many changes in a row were polled that no watch had announced, each by the end of its campaign: the watches are deaf. */
const MISSED_IN_A_ROW = 2;

/** A watch that can be begun anew. */
interface Renewable {
  renewWatch(): void;
}

interface Reporter {
  readonly store: LeaseStore;
  readonly election: string;
  readonly journal: Journal;
}

const healthBy = new WeakMap<LeaseStore, WatchHealth>();

/**
 * Whether the watches of one store wake, as all electors and observers of this process find out together. A connection may be forgotten by
 * a gateway on its way, or be shared by a pooler: then nothing comes any more, and nothing fails.
 */
export class WatchHealth {
  readonly #watches = new Set<Renewable>();
  readonly #reportedTo = new Set<Journal>();
  #missedInARow = 0;
  #isDeaf = false;

  static on(store: LeaseStore): WatchHealth {
    const known = healthBy.get(store) ?? new WatchHealth();
    healthBy.set(store, known);
    return known;
  }

  /** Polls have shown changes that no watch has announced; none has announced any since. */
  get isDeaf(): boolean {
    return this.#isDeaf;
  }

  add(watch: Renewable): void {
    this.#watches.add(watch);
  }

  remove(watch: Renewable): void {
    this.#watches.delete(watch);
  }

  /** A watch has announced a change. */
  heard(): void {
    this.#missedInARow = 0;
    this.#isDeaf = false;
    this.#reportedTo.clear();
  }

  /** A watch has ended that had not announced a change until then. It may have been about to. */
  missed(): void {
    this.#missedInARow += 1;
    if (this.#missedInARow >= MISSED_IN_A_ROW) this.isFoundDeaf();
  }

  /** A watch has stayed silent. All of the store are begun anew: they may share one connection. */
  isFoundDeaf(): void {
    this.#isDeaf = true;
    for (const watch of this.#watches) watch.renewWatch();
  }

  /** Says that the watches are deaf, once to each logger. */
  report({ store, election, journal }: Reporter): void {
    if (this.#reportedTo.has(journal)) return;
    this.#reportedTo.add(journal);
    const text =
      `The ${store.name} store does not push: polls have found changes of '${election}' that its watch did not announce. The watch is ` +
      "begun anew, and until it announces a change standbys poll every retryPeriodMs. On PostgreSQL, a pooler that shares connections by transaction " +
      "(PgBouncer, Supabase on port 6543) lets no notification through: give the store a direct connection.";
    journal.warn("LEASEHOLD_WATCH_DEAF", "warn", text, { store: store.name, election });
  }
}
