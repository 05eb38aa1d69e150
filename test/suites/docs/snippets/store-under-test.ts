import { setTimeout as delay } from "node:timers/promises";
import type { StoreUnderTest } from "@leasehold/conformance";
import { RecordLeaseStore, systemClock, type Clock } from "@leasehold/core/provider";
import { MyRecordStore, startMyService } from "./my-store.ts";

export const subject: StoreUnderTest = {
  name: "my store",
  // Really waited for, some hundred times in all: long enough for a machine that stands still for three seconds.
  leaseMs: 12_000,
  // How long the service is away in one case: by default forty leases.
  outageMs: 48_000,
  // How many requests each call may send.
  requests: { acquire: 1, renew: 1, release: 1, look: 1 },
  // The features that it lacks, each with the reason. The cases that need them are not run.
  lacks: {
    faults: "no proxy yet",
    duplicates: "no proxy yet",
    outages: "no proxy yet",
    fence: "nothing to guard a write with yet",
    foreign: "no way to write past the store yet",
    removal: "no way to write past the store yet",
    watch: "the service cannot push",
    "store-clock": "the service tells no time",
    reservation: "the service tells no time",
    occurrences: "not stored yet",
    list: "not stored yet",
  },
  async open() {
    const service = await startMyService();
    const connectWith = async (clock: Clock) => new RecordLeaseStore(new MyRecordStore(service.url), { clock });
    return {
      connect: () => connectWith(systemClock),
      connectWith,
      pass: async (ms) => await delay(ms),
      [Symbol.asyncDispose]: () => service.stop(),
    };
  },
};
