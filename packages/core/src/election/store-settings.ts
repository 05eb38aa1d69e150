import type { Journal } from "../reporting/journal.ts";
import type { LeaseStore } from "../store/lease-store.ts";

/** The loggers that have been told of a store's settings. */
const asked = new WeakMap<LeaseStore, WeakSet<Journal>>();

/**
 * Warns once for each store and logger of settings of the service by which it may lose what it has acknowledged. No lease waits for
 * it, and it never fails: a store that does not answer is reported by those who need it.
 */
export async function reportSettings(store: LeaseStore, election: string, journal: Journal): Promise<void> {
  const journals = asked.get(store) ?? new WeakSet();
  if (!store.inspect || journals.has(journal)) return;
  asked.set(store, journals.add(journal));
  try {
    for (const warning of await store.inspect({ election })) {
      const attributes = { store: store.name, election, warning };
      journal.warn("LEASEHOLD_STORE_SETTINGS", "warn", `The ${store.name} store: ${warning}`, attributes);
    }
  } catch {
    journals.delete(journal);
  }
}
