import { openStore } from "../stores/stores.ts";
import type { StoreSettings } from "../stores/test-store.ts";

/** How late the end of a lease or of a reservation may be found on this store. */
export async function storeTolerance(service: StoreSettings): Promise<number> {
  const { store, close } = await openStore(service);
  await close();
  return store.capabilities.reservation?.toleranceMs ?? 0;
}
