/** Runs the conformance cases on three members in memory. */
import { MemoryLeaseStore } from "@leasehold/core";
import type { Clock, LeaseRecord } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { runConformance } from "@leasehold/test-kit/conformance/run-conformance";
import { QuorumLeaseStore } from "../src/index.ts";

const IN_PROCESS = "in-process: nothing lies between a store and its memory that could fail; the simulation has faults";
const MEMBERS = 3;

runConformance({
  name: "quorum",
  leaseMs: 15_000,
  // One request of the quorum itself. To each member, those of a read, a prepare and an accept, or of one of these. A list gets the
  // names, and reads each election.
  requests: {
    acquire: 1 + 3 * MEMBERS,
    renew: 1 + MEMBERS,
    release: 1 + MEMBERS,
    look: 1 + MEMBERS,
    list: [1 + MEMBERS, 4 * (1 + MEMBERS)],
  },
  lacks: {
    faults: IN_PROCESS,
    duplicates: IN_PROCESS,
    outages: IN_PROCESS,
    fence: "a member's fence says nothing of a leader whom the others have elected",
    removal: "a record that one member lacks is not gone; the tests of the record have it",
    watch: "members are looked at",
  },
  open() {
    const clock = new VirtualClock();
    const open = (): MemoryLeaseStore => new MemoryLeaseStore({ clock });
    const members = { a: open(), b: open(), c: open() };
    const all = Object.values(members);
    const connectWith = (own: Clock) => Promise.resolve(new QuorumLeaseStore({ members, clock: own }));
    const signal = new AbortController().signal;
    return Promise.resolve({
      clock,
      connect: () => connectWith(clock),
      connectWith,
      pass: (ms: number) => clock.advance(ms),
      async writeRaw(election: string, what: "foreign" | "newer-schema") {
        const planted = what === "foreign" ? { mine: "do not touch" } : { schema: 5, term: 7 };
        const record = planted as unknown as LeaseRecord;
        for (const member of all) await member.records.put(election, record, { ifVersion: undefined, keepsNonce: false, signal });
      },
      readRaw: (election: string) => members.a.records.get(election, { consistent: true, signal }),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  },
});
