import { Elector, type LeaseStore } from "@leasehold/core";

/** The lease of all locks. A holder stands still right after its acquisition, so that no renewal of it is due before. */
export const LEASE_MS = 6_000;

/** The present holder of a lock. */
export interface Candidate {
  /** Returns whether it leads, by the best answer that its library gives at once. */
  leads(): boolean;
  close(): Promise<void>;
}

/** A lock and Leasehold, on the same service. */
export interface Rivals {
  /** Resolves once this process has the lock. */
  readonly theirs: (url: string) => Promise<Candidate>;
  readonly ours: (url: string) => Promise<Candidate>;
}

/** Resolves once this process leads by Leasehold on a store. */
export async function leadOn(store: LeaseStore, close: () => Promise<void> | void): Promise<Candidate> {
  const elector = new Elector({ store, election: "billing", leaseDurationMs: LEASE_MS, logger: false });
  const leadership = await elector.campaign();
  return {
    leads: () => leadership.isValid(),
    async close() {
      await leadership[Symbol.asyncDispose]();
      await close();
    },
  };
}
