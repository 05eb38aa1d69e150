import type { BlobLeaseClient } from "@azure/storage-blob";
import { ConfigurationError } from "@leasehold/core";
import { type Clock, holderElapsedMs, type Instant, type Lease } from "@leasehold/core/provider";
import { STORE_NAME } from "./azure-blob-errors.ts";
import type { Metadata, TermMetadata } from "./schema.ts";

/** A lease as its holder remembers it. */
export interface HeldBlobLease {
  readonly lease: Lease;
  /** The secret of the lease. It is sent to the service only. */
  readonly leaseId: string;
  /** The client that renews the lease. */
  readonly client: BlobLeaseClient;
  /** Read just before the last request that extended the lease was sent. The lease counts from here. */
  extendedAt: Instant;
  term: TermMetadata;
  /** The blob's metadata besides the term. */
  others: Metadata;
  etag: string;
  /** The instant at which the last confirmed write of the metadata returned. */
  writtenAt: Instant;
  /** The last of the metadata writes. They run one after the other, each conditional on the ETag of the one before. */
  writes: Promise<unknown>;
  /**
   * True if an administrator has broken the lease for a transfer. The lease is then left to run out, so that the note stays in
   * force.
   */
  transferring: boolean;
  /** Ends the last probe, if it is still under way. */
  probing: AbortController | undefined;
  /** The last instant at which the grid was known to be sharp, by the monotonic clock. */
  probedMs: number | undefined;
}

/** The leases that one store has given out in this process. */
export class Holdings {
  readonly #clock: Clock;
  readonly #byLease = new WeakMap<Lease, HeldBlobLease>();
  /** The leases whose term is not known to be over. */
  readonly #byElection = new Map<string, HeldBlobLease>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(holding: HeldBlobLease): void {
    this.#byLease.set(holding.lease, holding);
    this.#byElection.set(holding.lease.election, holding);
  }

  /** @throws {ConfigurationError} if another store gave out the lease. */
  of(lease: Lease): HeldBlobLease {
    const holding = this.#byLease.get(lease);
    if (holding) return holding;
    throw new ConfigurationError(`This lease of '${lease.election}' was not given out by this ${STORE_NAME} store.`);
  }

  /** Returns whether an elector of this process holds that term, by the holder's own clock. */
  holds(election: string, { termId }: TermMetadata): boolean {
    const holding = this.#byElection.get(election);
    if (!holding || holding.term.termId !== termId) return false;
    return holderElapsedMs(this.#clock, holding.extendedAt) < (holding.term.leaseDurationMs ?? 0);
  }

  /** Records that the term is over, and ends its probe. */
  drop(holding: HeldBlobLease): void {
    const { election } = holding.lease;
    holding.probing?.abort();
    if (this.#byElection.get(election) === holding) this.#byElection.delete(election);
  }
}
