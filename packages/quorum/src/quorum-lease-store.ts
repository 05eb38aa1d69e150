import { systemClock, type LeaseStore, type OccurrenceOptions, type StoreMember } from "@leasehold/core";
import { checkOptions, Journal, RecordLeaseStore, RecordOccurrenceStore, type Fenced } from "@leasehold/core/provider";
import { checkMembers, OPTIONS, recordsOf, type QuorumLeaseStoreOptions, type QuorumMember } from "./options.ts";
import { QuorumRecordStore, type MemberCallOptions } from "./quorum-record-store.ts";

type KeepsOccurrences = Required<Pick<LeaseStore, "occurrences">>;

/**
 * Leases on a majority of three or five independent stores, each of any kind that keeps records: none of them is a single
 * point of failure.
 *
 * Guarantees: as {@link RecordLeaseStore}, while a majority answers and no more than one member at a time is down, slow or
 * has lost what it acknowledged. Terms rise across all of that. Without a majority nobody leads.
 *
 * Not guaranteed: an order that one member has missed, where another one forgets it before the leader's next renewal, and the
 * others are silent, or answer that renewal last. It is lost then, or ends the leader one renewal late.
 *
 * It tells ages by the clocks of its members where each has one, keeps occurrences where each does, and has no watch.
 */
export class QuorumLeaseStore extends RecordLeaseStore {
  readonly occurrences?: (election: string, options: OccurrenceOptions) => RecordOccurrenceStore;
  readonly #quorum: QuorumRecordStore;

  /** @throws {ConfigurationError} for options that cannot work, before any request. */
  constructor(options: QuorumLeaseStoreOptions) {
    checkOptions("QuorumLeaseStore", options, OPTIONS);
    const { members, clock = systemClock, logger } = options;
    const journal = Journal.to(logger);
    const quorum = new QuorumRecordStore(checkMembers(members), clock, journal);
    // A member has no elector of its own.
    for (const member of Object.values(members)) member.warnings?.join(journal);
    super(quorum, { clock });
    this.#quorum = quorum;
    if (Object.values(members).every(keepsOccurrences)) {
      this.occurrences = (election, kept) => {
        const stores = Object.entries(members as Readonly<Record<string, KeepsOccurrences>>);
        const records = stores.map(([name, member]) => [name, recordsOf(name, member.occurrences(election, kept))] as const);
        return new RecordOccurrenceStore(quorum.beside(Object.fromEntries(records)), { clock });
      };
    }
  }

  /** Returns each member, whether it counts, for how long, and what it waits for. As this process has found it last; sends nothing. */
  members(): readonly StoreMember[] {
    return this.#quorum.members();
  }

  /**
   * Has a member's store taken in now, and brings it the records of these elections, so that it counts for them: before another member
   * is emptied, restored or replaced. Processes do that by themselves, for the elections that they write; not for elections that nobody
   * leads, and not for a store that was restored from before it was taken in.
   *
   * @param member its name.
   * @throws {ConfigurationError} if its store is another member's, or another quorum's. A `StoreError` where it does not answer, or too
   * few of the others do.
   */
  async heal(member: string, elections: readonly string[] = [], options?: MemberCallOptions): Promise<void> {
    await this.#quorum.heal(member, elections, options);
  }

  /**
   * Has a member's fence let this leadership's guarded writes pass, and those of no older one any more: the member's own
   * `fence` decides it from then on, atomically. Call it before the work on data beside a member. Until then a write of the
   * leadership before may still pass there, and so after a release.
   *
   * @param member its name.
   * @throws {FencedError} if this leadership is over. A `StoreError` if the member, or a majority, does not answer.
   */
  async seal(leadership: Fenced, member: string, options?: MemberCallOptions): Promise<void> {
    await this.#quorum.seal(leadership, member, options);
  }
}

function keepsOccurrences(member: QuorumMember): boolean {
  return typeof (member as Partial<KeepsOccurrences>).occurrences === "function";
}
