import type { Clock, LeaseSnapshot } from "@leasehold/core";
import { Recent } from "@leasehold/core/provider";
import type { Candidate } from "./candidate.ts";
import type { ElectionKeys } from "./keys.ts";
import type { CallLimits, EtcdRequests } from "./requests.ts";
import { electionData, lookingFor, sightingOf, snapshotOf, type Head, type Sighting } from "./sighting.ts";

/** What this process remembers of an election. */
interface Memory {
  /** The highest term that any reading has shown. */
  readonly term: number;
  /** The last reading showed that nobody leads. */
  readonly isVacant: boolean;
  readonly leaseDurationMs: number | undefined;
  /** Who led when this process looked last. */
  readonly leader: Pick<Head, "hex" | "term"> | undefined;
}

/** Reads elections, and remembers what etcd forgets: the last term of one that nobody leads. */
export class ElectionReader {
  readonly #requests: EtcdRequests;
  readonly #memories: Recent<Memory>;
  /** The leases of attempts whose outcome is not known, in hex, until they have run out. */
  readonly #abandoned: Recent<true>;

  constructor(clock: Clock, requests: EtcdRequests) {
    this.#requests = requests;
    this.#memories = new Recent(clock);
    this.#abandoned = new Recent(clock);
  }

  /**
   * Reads who leads: one request. Where that is an attempt of this process that was given up, its lease is revoked, and the election
   * read again.
   * @throws {ForeignRecordError} if the oldest key is no candidate's.
   */
  async read(keys: ElectionKeys, election: string, limits: CallLimits): Promise<Sighting> {
    const sighting = await this.#readOnce(keys, election, limits);
    const { head } = sighting;
    if (!head || !this.#abandoned.get(head.hex)) return sighting;
    await this.#requests.revoke(election, head.leaseNumber, limits);
    return await this.#readOnce(keys, election, limits);
  }

  async snapshot(sighting: Sighting, limits: CallLimits): Promise<LeaseSnapshot | undefined> {
    const { election, head } = sighting;
    if (head?.note?.kind !== "hold") return snapshotOf(sighting, this.lastTerm(election));
    const leftS = await this.#requests.timeToLive(election, head.leaseNumber, limits);
    // It is rounded down, and the key goes a moment after the end.
    return snapshotOf(sighting, this.lastTerm(election), Math.max(leftS + 1, 1) * 1_000);
  }

  /** Remembers what a reading, a write or a watch has shown. */
  saw({ election, head }: Sighting): void {
    const before = this.#memories.get(election);
    this.#memories.set(election, {
      term: Math.max(before?.term ?? 0, head?.term ?? 0),
      isVacant: head === undefined,
      leader: head && { hex: head.hex, term: head.term },
      leaseDurationMs: head?.info?.leaseDurationMs ?? before?.leaseDurationMs,
    });
  }

  /** Remembers a term that this process has won. */
  sawOwn({ request: { election }, hex, leaseNumber, info }: Candidate, term: number): void {
    this.saw({ election, revision: term, head: { hex, term, leaseNumber, value: "", info, note: undefined } });
  }

  /** Remembers a term that the caller has seen: who lives longer than this memory must not find that terms have gone back. */
  knows(election: string, term = 0): void {
    const { isVacant = false, leaseDurationMs, leader } = this.#memories.get(election) ?? {};
    this.#memories.set(election, { isVacant, leaseDurationMs, leader, term: Math.max(term, this.lastTerm(election)) });
  }

  /** Returns the highest term that this process has seen; 0 if it has seen none. */
  lastTerm(election: string): number {
    return this.#memories.get(election)?.term ?? 0;
  }

  /** Returns who led when this process looked last. */
  leader(election: string): Pick<Head, "hex" | "term"> | undefined {
    return this.#memories.get(election)?.leader;
  }

  /** Reports whether nobody led when this process looked last. */
  wasVacant(election: string): boolean {
    return this.#memories.get(election)?.isVacant === true;
  }

  /** Returns the duration of the last lease that was seen. */
  lastLeaseMs(election: string): number | undefined {
    return this.#memories.get(election)?.leaseDurationMs;
  }

  /** Keeps what is remembered for so long more, at least. */
  keep(election: string, forMs: number): void {
    this.#memories.keep(election, forMs);
  }

  /** Remembers a lease that may have a key nobody knows of, to be revoked when a reading shows it. */
  abandon(election: string, hex: string): void {
    this.#abandoned.set(hex, true);
    const memory = this.#memories.get(election);
    if (memory) this.#memories.set(election, { ...memory, isVacant: false });
  }

  async #readOnce(keys: ElectionKeys, election: string, limits: CallLimits): Promise<Sighting> {
    const { header, ranges } = await this.#requests.read("read", election, lookingFor(keys, this.leader(election)), limits);
    const sighting = sightingOf(election, keys, header.revision, electionData(ranges));
    this.saw(sighting);
    return sighting;
  }
}
