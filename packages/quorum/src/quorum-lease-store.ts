import {
  systemClock,
  type OccurrenceOptions,
  type StoreMember,
  checkOptions,
  Journal,
  RecordLeaseStore,
  RecordOccurrenceStore,
  type Fenced,
} from "@leasehold/core/provider";
import type { LeaseStore } from "@leasehold/core";
import { checkMembers, OPTIONS, recordsOf, type QuorumLeaseStoreOptions, type QuorumMember } from "./options.ts";
import { QuorumRecordStore, type MemberCallOptions } from "./quorum-record-store.ts";

type KeepsOccurrences = Required<Pick<LeaseStore, "occurrences">>;

/**
 * Keeps each lease in a majority of three or five independent stores, of any kind that keeps records. No single store is a single
 * point of failure.
 *
 * Guarantees: those of {@link RecordLeaseStore}. They hold while a majority answers, and at most one member at a time is down,
 * slow, or has lost acknowledged writes. Terms rise through all of these faults. Without a majority no candidate leads.
 *
 * Not guaranteed: an administrator's order can be lost or late. For this, one member must miss the order, and another must forget
 * it before the leader's next renewal. If the remaining members are silent, the order is lost. If they answer that renewal last,
 * the order ends the leader one renewal late.
 *
 * Ages are measured by the members' store clocks if each member has such a clock. Occurrences are kept if each member keeps them.
 * There is no watch.
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
    // A member has no elector of its own, so nothing else connects its warnings to a logger.
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

  /**
   * Returns for each member whether it counts, for how long, and what it waits for. Returns what this process knows, and sends no
   * request.
   */
  members(): readonly StoreMember[] {
    return this.#quorum.members();
  }

  /**
   * Takes a member's store in now, and brings it the records of these elections, so that it counts for them. Call it before
   * another member is emptied, restored or replaced.
   *
   * Without a call, processes take stores in by themselves, and bring them the elections that the processes write. They do not
   * bring elections without a leader. They do not take in a store that was restored from a backup older than its marker.
   *
   * @param member the member's name.
   * @throws {ConfigurationError} if the name is unknown, the quorum has not begun, or the store is another member's or another
   * quorum's.
   * @throws {StoreError} if this member, or a majority, does not answer.
   */
  async heal(member: string, elections: readonly string[] = [], options?: MemberCallOptions): Promise<void> {
    await this.#quorum.heal(member, elections, options);
  }

  /**
   * Makes a member's fence admit the guarded writes of this leadership, and refuse those of older ones. From then on the member's
   * own `fence` checks each write atomically. Call it before the work on data beside a member. Until `seal` resolves, the member
   * may still accept a write of the previous leadership, also after a release.
   *
   * @param member the member's name.
   * @throws {FencedError} if this leadership is over.
   * @throws {UnsupportedError} if the member has no fence.
   * @throws {StoreError} if the member, or a majority, does not answer.
   */
  async seal(leadership: Fenced, member: string, options?: MemberCallOptions): Promise<void> {
    await this.#quorum.seal(leadership, member, options);
  }
}

function keepsOccurrences(member: QuorumMember): boolean {
  return typeof (member as Partial<KeepsOccurrences>).occurrences === "function";
}
