import type { BlobLeaseClient } from "@azure/storage-blob";
import { ConfigurationError, type Clock } from "@leasehold/core";
import { holderElapsedMs, type Instant, type Lease } from "@leasehold/core/provider";
import { STORE_NAME } from "./azure-blob-errors.ts";
import type { Metadata, TermMetadata } from "./schema.ts";

/** A lease as its holder remembers it. */
export interface Holding {
  readonly lease: Lease;
  /** The key to the lease. It is sent to the service, and goes nowhere else. */
  readonly leaseId: string;
  /** Renews the lease. */
  readonly client: BlobLeaseClient;
  /** Before the last request that extended the lease was sent. */
  extendedAt: Instant;
  term: TermMetadata;
  /** The blob's metadata beside the term. */
  others: Metadata;
  etag: string;
  /** When the metadata was last known to be written. */
  writtenAt: Instant;
  /** Metadata writes go one at a time, each conditional on the ETag of the one before; this is the last of them. */
  writes: Promise<unknown>;
  /** An administrator has broken the lease in favour of somebody. It is left to run out, so that the note stays in force. */
  transferring: boolean;
  /** Ends the last probe, should it still be under way. */
  probing: AbortController | undefined;
  /** When the grid was last made sharp, or known to be, by the monotonic clock. */
  probedMs: number | undefined;
}

/** The leases that one store has given out in this process. */
export class Holdings {
  readonly #clock: Clock;
  readonly #byLease = new WeakMap<Lease, Holding>();
  /** Those whose term is not known to be over. */
  readonly #byElection = new Map<string, Holding>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(holding: Holding): void {
    this.#byLease.set(holding.lease, holding);
    this.#byElection.set(holding.lease.election, holding);
  }

  /** @throws {ConfigurationError} if the lease is another store's. */
  of(lease: Lease): Holding {
    const holding = this.#byLease.get(lease);
    if (holding) return holding;
    throw new ConfigurationError(`This lease of '${lease.election}' was not given out by this ${STORE_NAME} store.`);
  }

  /** Reports whether an elector of this process holds that term, by the holder's own clock. */
  holds(election: string, { termId }: TermMetadata): boolean {
    const holding = this.#byElection.get(election);
    if (!holding || holding.term.termId !== termId) return false;
    return holderElapsedMs(this.#clock, holding.extendedAt) < (holding.term.leaseDurationMs ?? 0);
  }

  /** Notes that the term is over, and ends its probe. */
  drop(holding: Holding): void {
    const { election } = holding.lease;
    holding.probing?.abort();
    if (this.#byElection.get(election) === holding) this.#byElection.delete(election);
  }
}
