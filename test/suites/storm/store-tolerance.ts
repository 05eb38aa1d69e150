import { openStore } from "@leasehold/test-kit/stores/stores";
import type { StoreSettings } from "@leasehold/test-kit/stores/test-store";

/** Returns the longest delay with which this store finds the end of a lease or of a reservation. */
export async function storeTolerance(service: StoreSettings): Promise<number> {
  const { store, close } = await openStore(service);
  await close();
  return store.capabilities.reservation?.toleranceMs ?? 0;
}
