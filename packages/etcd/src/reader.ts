import { type Clock, ExpiringMap } from "@leasehold/core/provider";
import type { LeaseSnapshot } from "@leasehold/core";
import type { EtcdCandidate } from "./candidate.ts";
import type { ElectionKeys } from "./keys.ts";
import type { CallLimits, EtcdRequests } from "./requests.ts";
import { electionData, lookingFor, sightingOf, snapshotOf, type Head, type ObservedElection } from "./observed-election.ts";

/** The facts that this process remembers of an election. */
interface Memory {
  /** The highest term that any read has shown. */
  readonly term: number;
  /** True if the last read showed no leader. */
  readonly isVacant: boolean;
  readonly leaseDurationMs: number | undefined;
  /** The leader in the last read. */
  readonly leader: Pick<Head, "hex" | "term"> | undefined;
}

/** Reads elections. Remembers the last term of an election without a leader, which etcd does not keep. */
export class ElectionReader {
  readonly #requests: EtcdRequests;
  readonly #memories: ExpiringMap<Memory>;
  /** The leases, in hex, of attempts whose outcome is unknown, until they have run out. */
  readonly #abandoned: ExpiringMap<true>;

  constructor(clock: Clock, requests: EtcdRequests) {
    this.#requests = requests;
    this.#memories = new ExpiringMap(clock);
    this.#abandoned = new ExpiringMap(clock);
  }

  /**
   * Reads who leads, in one request. If the leader is an abandoned attempt of this process, revokes its lease and reads the
   * election again.
   * @throws {ForeignRecordError} if the oldest key is not a candidate's.
   */
  async read(keys: ElectionKeys, election: string, limits: CallLimits): Promise<ObservedElection> {
    const observed = await this.#readOnce(keys, election, limits);
    const { head } = observed;
    if (!head || !this.#abandoned.get(head.hex)) return observed;
    await this.#requests.revoke(election, head.leaseNumber, limits);
    return await this.#readOnce(keys, election, limits);
  }

  async snapshot(observed: ObservedElection, limits: CallLimits): Promise<LeaseSnapshot | undefined> {
    const { election, head } = observed;
    if (head?.note?.kind !== "hold") return snapshotOf(observed, this.lastTerm(election));
    const leftS = await this.#requests.timeToLive(election, head.leaseNumber, limits);
    // etcd rounds the seconds down, and deletes the key shortly after the expiry.
    return snapshotOf(observed, this.lastTerm(election), Math.max(leftS + 1, 1) * 1_000);
  }

  /** Remembers an election as a read, a write or a watch has shown it. */
  saw({ election, head }: ObservedElection): void {
    const before = this.#memories.get(election);
    this.#memories.set(election, {
      term: Math.max(before?.term ?? 0, head?.term ?? 0),
      isVacant: head === undefined,
      leader: head && { hex: head.hex, term: head.term },
      leaseDurationMs: head?.info?.leaseDurationMs ?? before?.leaseDurationMs,
    });
  }

  /** Remembers a term that this process has won. */
  sawOwn({ request: { election }, hex, leaseNumber, info }: EtcdCandidate, term: number): void {
    this.saw({ election, revision: term, head: { hex, term, leaseNumber, value: "", info, note: undefined } });
  }

  /** Records the highest term of the caller. This reader may have dropped its own record, and must not report a lower term. */
  knows(election: string, term = 0): void {
    const { isVacant = false, leaseDurationMs, leader } = this.#memories.get(election) ?? {};
    this.#memories.set(election, { isVacant, leaseDurationMs, leader, term: Math.max(term, this.lastTerm(election)) });
  }

  /** Returns the highest term that this process has seen; 0 if it has seen none. */
  lastTerm(election: string): number {
    return this.#memories.get(election)?.term ?? 0;
  }

  /** Returns the leader in the last read. */
  leader(election: string): Pick<Head, "hex" | "term"> | undefined {
    return this.#memories.get(election)?.leader;
  }

  /** Reports whether the last read showed no leader. */
  wasVacant(election: string): boolean {
    return this.#memories.get(election)?.isVacant === true;
  }

  /** Returns the duration of the last lease that was seen. */
  lastLeaseMs(election: string): number | undefined {
    return this.#memories.get(election)?.leaseDurationMs;
  }

  /** Keeps the memory of an election for at least this long. */
  keep(election: string, forMs: number): void {
    this.#memories.keep(election, forMs);
  }

  /** Remembers a lease that no process uses, but whose key may exist. If a read shows the key, the lease is revoked. */
  abandon(election: string, hex: string): void {
    this.#abandoned.set(hex, true);
    const memory = this.#memories.get(election);
    if (memory) this.#memories.set(election, { ...memory, isVacant: false });
  }

  async #readOnce(keys: ElectionKeys, election: string, limits: CallLimits): Promise<ObservedElection> {
    const { header, ranges } = await this.#requests.read("read", election, lookingFor(keys, this.leader(election)), limits);
    const observed = sightingOf(election, keys, header.revision, electionData(ranges));
    this.saw(observed);
    return observed;
  }
}
