import { systemClock } from "@leasehold/core";
import { checkOptions, RecordLeaseStore, type Fenced } from "@leasehold/core/provider";
import { checkMembers, OPTIONS, type QuorumLeaseStoreOptions } from "./options.ts";
import { QuorumRecordStore, type SealOptions } from "./quorum-record-store.ts";

/**
 * Leases on a majority of three or five independent stores, each of any kind that keeps records: none of them is a single
 * point of failure.
 *
 * Guarantees: as {@link RecordLeaseStore}, while a majority answers and no more than one member at a time is down, slow or
 * has lost what it acknowledged. Terms rise across all of that. Without a majority nobody leads.
 *
 * It offers no expiry by a store's clock, no occurrences and no watch.
 */
export class QuorumLeaseStore extends RecordLeaseStore {
  readonly #quorum: QuorumRecordStore;

  /** @throws {ConfigurationError} for options that cannot work, before any request. */
  constructor(options: QuorumLeaseStoreOptions) {
    checkOptions("QuorumLeaseStore", options, OPTIONS);
    const { members, clock = systemClock } = options;
    const quorum = new QuorumRecordStore(checkMembers(members), clock);
    super(quorum, { clock });
    this.#quorum = quorum;
  }

  /**
   * Has a member's fence let this leadership's guarded writes pass, and those of no older one any more: the member's own
   * `fence` decides it from then on, atomically. Call it before the work on data beside a member. Until then a write of the
   * leadership before may still pass there, and so after a release.
   *
   * @param member its name.
   * @throws {FencedError} if this leadership is over. A `StoreError` if the member, or a majority, does not answer.
   */
  async seal(leadership: Fenced, member: string, options?: SealOptions): Promise<void> {
    await this.#quorum.seal(leadership, member, options);
  }
}
