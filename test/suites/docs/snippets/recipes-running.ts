import { Elector, isLeaseholdError, type Leadership, type LeaseStore } from "@leasehold/core";

declare const elector: Elector;
declare const store: LeaseStore;
declare function drain(leadership: Leadership): Promise<void>;

export function logged(): Elector {
  const talkative = new Elector({ store, election: "nightly-billing", logger: console });
  return talkative;
}

export function withOptions(): Elector {
  const patient = new Elector({ store, election: "nightly-billing", leaseDurationMs: 30_000, startup: "patient" });
  return patient;
}

export async function fencedOut(): Promise<void> {
  await elector.run(async (leadership) => {
    try {
      await drain(leadership);
    } catch (error) {
      if (!isLeaseholdError(error, "FENCED")) throw error;
    }
  });
}
