import { openStore } from "@leasehold/test-kit/stores/stores";
import type { StoreSettings } from "@leasehold/test-kit/stores/test-store";

/** How late the end of a lease or of a reservation may be found on this store. */
export async function storeTolerance(service: StoreSettings): Promise<number> {
  const { store, close } = await openStore(service);
  await close();
  return store.capabilities.reservation?.toleranceMs ?? 0;
}
