import type { StoreKind } from "../stores/stores.ts";
import type { Mutant } from "./mutant.ts";

const CLOCKED: readonly StoreKind[] = ["records with a push", "records with a clock"];
const RECORDS: readonly StoreKind[] = ["records", ...CLOCKED];

const RECORD_STORE = "packages/core/src/records/record-store.ts";
const ACQUISITIONS = "packages/core/src/records/acquisitions.ts";
const SERVICE = "packages/core/src/testing/simulated-record-service.ts";

/** Bugs of an acquisition in one request, in which the service decides whether the election is open. */
export const UNSEEN_MUTANTS: readonly Mutant[] = [
  {
    name: "unseen-bars-forgotten",
    rule: "a bar holds, and ends",
    bug: "a lease that was released early, and is held back, counts as open",
    within: 1_000,
    patches: [{ file: RECORD_STORE, find: "done || bars) return false", replace: "done) return false" }],
    stores: RECORDS,
  },
  {
    name: "unseen-done-forgotten",
    rule: "done is done once",
    bug: "an occurrence that is done counts as open",
    within: 100,
    patches: [{ file: RECORD_STORE, find: "termId !== null || done || bars", replace: "termId !== null || bars" }],
    stores: CLOCKED,
  },
  {
    name: "unseen-takes-what-expired",
    rule: "two proofs of expiry",
    bug: "a lease counts as open that has expired by a clock of the service's that may step",
    within: 200,
    patches: [
      {
        file: SERVICE,
        find: '"problem" in found || !isOpen(found, bid) : !mayCreate',
        replace:
          '"problem" in found || !(isOpen(found, bid) || (current?.nonceAgeMs?.[0] ?? 0) >= found.leaseDurationMs) : !mayCreate',
      },
    ],
    stores: ["records with a clock"],
  },
  {
    name: "unseen-repeats-a-term",
    rule: "a fence lets one leadership pass",
    bug: "an open election is led anew in the term that it had",
    within: 200,
    patches: [{ file: SERVICE, find: "found.term + 1 : bid.term", replace: "Math.max(found.term, 1) : bid.term" }],
    stores: RECORDS,
  },
  {
    name: "unseen-unknown-counts-as-won",
    rule: "an unknown outcome is read",
    bug: "an attempt on an open election counts as won where no reply has come",
    within: 50,
    patches: [
      {
        file: ACQUISITIONS,
        find: "    if (outcome instanceof Error) return await this.#resolve(attempt, outcome);\n",
        replace:
          '    if (outcome instanceof Error) return { acquired: true, lease: this.#leases.take(election, { record, version: "unknown" }, grantedAt) };\n',
      },
    ],
    stores: RECORDS,
  },
];
