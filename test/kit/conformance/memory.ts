import type { StoreUnderTest } from "@leasehold/conformance";
import {
  type Clock,
  type LeaseRecord,
  MemoryRecordStore,
  RecordLeaseStore,
  RecordOccurrenceStore,
} from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";

const IN_PROCESS = "in-process: nothing lies between a store and its memory that could fail";

/** The subject of the suite in memory, in virtual time. */
export const inMemory: StoreUnderTest = {
  name: "memory",
  leaseMs: 15_000,
  requests: { acquire: 1, renew: 1, release: 1, look: 1 },
  lacks: {
    faults: IN_PROCESS,
    duplicates: IN_PROCESS,
    outages: IN_PROCESS,
    removal: "nothing deletes a record from this memory",
    fence: "in-process: nothing in this memory could refuse a write",
  },
  open() {
    const clock = new VirtualClock();
    const records = new MemoryRecordStore(clock);
    const ticks = new Map<string, MemoryRecordStore>();
    const recordsOf = (election: string): MemoryRecordStore => {
      const found = ticks.get(election) ?? new MemoryRecordStore(clock);
      ticks.set(election, found);
      return found;
    };
    const connectWith = (own: Clock) => {
      const occurrences = (election: string) => new RecordOccurrenceStore(recordsOf(election), { clock: own });
      return Promise.resolve(Object.assign(new RecordLeaseStore(records, { clock: own }), { occurrences }));
    };
    return Promise.resolve({
      clock,
      connect: () => connectWith(clock),
      connectWith,
      pass: (ms: number) => clock.advance(ms),
      async writeRaw(election: string, what: "foreign" | "newer-schema") {
        const planted = what === "foreign" ? { mine: "do not touch" } : { schema: 2, term: 7 };
        await records.put(election, planted as unknown as LeaseRecord, {
          ifVersion: undefined,
          keepsNonce: false,
          signal: new AbortController().signal,
        });
      },
      readRaw: (election: string) => records.get(election),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  },
};
