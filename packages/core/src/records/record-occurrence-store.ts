import type { Lease, OccurrenceStore, ReleaseOutcome, RequestLimits } from "../store/lease-store.ts";
import { RecordLeaseStore } from "./record-lease-store.ts";

/** An {@link OccurrenceStore} over a service that offers compare-and-swap on one record for each occurrence. */
export class RecordOccurrenceStore extends RecordLeaseStore implements OccurrenceStore {
  async complete(lease: Lease, { timeoutMs }: RequestLimits): Promise<ReleaseOutcome> {
    return await this.vacate(lease, { timeoutMs, done: true });
  }
}
