import type { Journal } from "../reporting/journal.ts";
import type { LeaseStore } from "../store/lease-store.ts";

/** The loggers that have received the warnings about a store's settings. */
const asked = new WeakMap<LeaseStore, WeakSet<Journal>>();

/**
 * Warns of settings of the service that can lose acknowledged writes, once for each store and logger. No lease waits for it. It
 * ignores failures, because the callers that need the store report them. The next campaign then inspects again.
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
