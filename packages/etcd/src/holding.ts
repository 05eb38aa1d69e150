import { ConfigurationError } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import { STORE_NAME } from "./etcd-errors.ts";
import type { ElectionKeys } from "./keys.ts";
import type { CandidateInfo } from "./schema.ts";

/** A lease as its holder remembers it. Its termId is the hex of the lease at etcd. */
export interface HeldKey {
  readonly lease: Lease;
  readonly keys: ElectionKeys;
  /** The lease at etcd, as decimal digits. */
  readonly leaseNumber: string;
  readonly info: CandidateInfo;
  /** The last revision at which the holder's key was seen. */
  revision: number;
  /** True once the term is over, or broken. The lease is then not renewed any more. */
  isOver: boolean;
}

/** The leases that one store has returned in this process. */
export class Holdings {
  readonly #byLease = new WeakMap<Lease, HeldKey>();

  add(holding: HeldKey): Lease {
    this.#byLease.set(holding.lease, holding);
    return holding.lease;
  }

  /** @throws {ConfigurationError} if the lease is another store's. */
  of(lease: Lease): HeldKey {
    const holding = this.#byLease.get(lease);
    if (holding) return holding;
    throw new ConfigurationError(`This lease of '${lease.election}' was not given out by this ${STORE_NAME} store.`);
  }
}
