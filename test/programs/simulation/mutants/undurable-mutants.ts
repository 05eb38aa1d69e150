import type { StoreKind } from "../stores/stores.ts";
import type { Mutant } from "./mutant.ts";

/** The stores whose reads may show writes that a failover undoes. */
const UNDURABLE: readonly StoreKind[] = ["records with a clock"];

/** Bugs in the use of a read that may show a write which was never acknowledged. */
export const UNDURABLE_MUTANTS: readonly Mutant[] = [
  {
    name: "win-counts-by-reading",
    rule: "nothing counts by reading",
    bug: "an acquisition that was never acknowledged counts as won because a read shows it",
    within: 2_000,
    patches: [
      {
        file: "packages/core/src/records/acquisitions.ts",
        find: "if (this.#seen.showsUndurable) return await this.#confirm(election, observed, request);",
        replace: "",
      },
    ],
    stores: UNDURABLE,
  },
  {
    name: "renewal-counts-by-reading",
    rule: "nothing counts by reading",
    bug: "a renewal that was never acknowledged extends the lease because a read shows it",
    within: 2_000,
    patches: [
      {
        file: "packages/core/src/records/held-leases.ts",
        find: "const arrivedAt = this.#seen.showsUndurable ? undefined : holding.unreportedAt;",
        replace: "const arrivedAt = holding.unreportedAt;",
      },
    ],
    stores: UNDURABLE,
  },
  {
    name: "done-counts-by-reading",
    rule: "nothing counts by reading",
    bug: "an occurrence counts as recorded because a read shows it as done, and a failover undoes that",
    within: 20_000,
    patches: [
      {
        file: "packages/core/src/records/held-leases.ts",
        find: "if (arrived && done && this.#seen.showsUndurable) {",
        replace: "if (arrived && done && this.#seen.showsUndurable && election === undefined) {",
      },
    ],
    stores: UNDURABLE,
  },
  {
    name: "order-counts-by-reading",
    rule: "nothing counts by reading",
    bug: "an administrator is told that an order is carried out because a read shows it, and a failover undoes it",
    within: 4_000,
    patches: [
      {
        file: "packages/core/src/store/administration.ts",
        find: "return (await standing.confirm?.()) ?? true;",
        replace: "return true;",
      },
    ],
    stores: UNDURABLE,
  },
  {
    name: "rolled-back-term-locks-out",
    rule: "fail closed",
    bug: "a standby that saw a term which a failover has undone refuses to lead for good",
    within: 2_000,
    patches: [
      {
        file: "packages/core/src/election/candidate-requests.ts",
        find: "if (this.#mayBeRolledBack(term)) return snapshot;",
        replace: "",
      },
    ],
    stores: UNDURABLE,
  },
];
