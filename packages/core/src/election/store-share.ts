import type { Journal } from "../reporting/journal.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import { systemClock, type Clock } from "../time/clock.ts";
import { ExpiringMap } from "../time/expiring-map.ts";
import { CampaignStartLimiter } from "./campaign-start-limiter.ts";
import { OutageReporter } from "./outage-reporter.ts";
import { SeenTerms } from "./seen-terms.ts";
import { WatchHealth } from "./watch-health.ts";

/** The state that all electors and observers of this process share on one store. */
export class StoreShare {
  static readonly #byStore = new WeakMap<LeaseStore, StoreShare>();
  readonly starts: CampaignStartLimiter = new CampaignStartLimiter();
  readonly watches: WatchHealth = new WatchHealth();
  readonly terms: SeenTerms;
  readonly outages: OutageReporter;
  /** Separate from outages. Rights may be missing for one election for a long time, and must not hide an outage. */
  readonly refusals: OutageReporter;
  /** The elections in which the store has carried out a write of this process, or refused one only for its condition. */
  readonly proven: ExpiringMap<true>;
  readonly proving: Set<string> = new Set();
  /** True if the last request of any elector or observer was answered. */
  isWell = false;
  readonly #store: LeaseStore;
  readonly #inspectedFor = new WeakSet<Journal>();

  private constructor(store: LeaseStore, clock: Clock) {
    this.#store = store;
    this.terms = new SeenTerms(clock);
    this.outages = new OutageReporter(store.name, clock);
    this.refusals = new OutageReporter(store.name, clock);
    this.proven = new ExpiringMap(clock);
  }

  static of(store: LeaseStore, clock: Clock = store.clock ?? systemClock): StoreShare {
    let share = StoreShare.#byStore.get(store);
    if (!share) StoreShare.#byStore.set(store, (share = new StoreShare(store, clock)));
    return share;
  }

  /** Warns each logger once of settings that can lose acknowledged writes. No lease waits for this check. */
  async reportSettings(election: string, journal: Journal): Promise<void> {
    const store = this.#store;
    if (!store.inspect || this.#inspectedFor.has(journal)) return;
    this.#inspectedFor.add(journal);
    try {
      for (const warning of await store.inspect({ election })) {
        const attributes = { store: store.name, election, warning };
        journal.warn("LEASEHOLD_STORE_SETTINGS", "warn", `The ${store.name} store: ${warning}`, attributes);
      }
    } catch {
      this.#inspectedFor.delete(journal);
    }
  }
}
