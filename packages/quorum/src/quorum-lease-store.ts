import { systemClock } from "@leasehold/core";
import { checkOptions, RecordLeaseStore } from "@leasehold/core/provider";
import { checkMembers, OPTIONS, type QuorumLeaseStoreOptions } from "./options.ts";
import { QuorumRecordStore } from "./quorum-record-store.ts";

/**
 * Leases on a majority of three or five independent stores, each of any kind that keeps records: none of them is a single
 * point of failure.
 *
 * Guarantees: as {@link RecordLeaseStore}, while a majority answers and no more than one member at a time is down, slow or
 * has lost what it acknowledged. Terms rise across all of that. Without a majority nobody leads.
 *
 * It offers no fence, no expiry by a store's clock, no occurrences and no watch.
 */
export class QuorumLeaseStore extends RecordLeaseStore {
  /** @throws {ConfigurationError} for options that cannot work, before any request. */
  constructor(options: QuorumLeaseStoreOptions) {
    checkOptions("QuorumLeaseStore", options, OPTIONS);
    const { members, clock = systemClock } = options;
    super(new QuorumRecordStore(checkMembers(members), clock), { clock });
  }
}
