import type { StoreKind } from "../stores/stores.ts";
import type { Mutant } from "./mutant.ts";

const RECORDS: readonly StoreKind[] = ["records", "records with a push", "records with a clock"];

const ADMINISTRATION = "packages/core/src/store/administration.ts";
const ORDERS = "packages/core/src/records/record-orders.ts";

/** Bugs in administrators' orders. */
export const ORDER_MUTANTS: readonly Mutant[] = [
  {
    name: "order-not-looked-for",
    rule: "an unknown outcome is read",
    bug: "a break whose reply was lost fails, and is not looked for",
    within: 1_000,
    patches: [
      {
        file: ADMINISTRATION,
        find: "        if (isSent && isUnknown(error)) unanswered = error;",
        replace: "        if (isSent && isUnknown(error)) throw error;",
      },
    ],
    stores: RECORDS,
  },
  {
    name: "order-again-at-the-successor",
    rule: "an unknown outcome is read",
    bug: "a break whose reply was lost is sent again at whoever leads by then",
    within: 4_000,
    patches: [
      {
        file: ADMINISTRATION,
        find: "if (!standing || standing.snapshot.term !== term ||",
        replace: "if (!standing || (ifTerm !== undefined && standing.snapshot.term !== term) ||",
      },
    ],
    stores: RECORDS,
  },
  {
    name: "hand-over-given-up-at-one-look",
    rule: "an unknown outcome is read",
    bug: "a transfer fails because one read of its outcome does",
    within: 1_000,
    patches: [
      {
        file: ADMINISTRATION,
        find: "        if (clock.monotonicMs() - lookedMs >= patienceMs) throw this.#failure(election, order, term, error);",
        replace: "        throw error;",
      },
    ],
    stores: RECORDS,
  },
  {
    name: "break-leaves-a-hand-over",
    rule: "break never makes two leaders",
    bug: "a break does not lift a transfer to a candidate that never comes",
    within: 500,
    patches: [
      {
        file: ORDERS,
        find: 'withBars(record, [hold, barOf(record, "pause")])',
        replace: 'withBars(record, [hold, barOf(record, "transfer"), barOf(record, "pause")])',
      },
    ],
    stores: RECORDS,
  },
  {
    name: "break-leaves-a-hold",
    rule: "break never makes two leaders",
    bug: "a break does not lift a minimum hold",
    within: 5_000,
    patches: [
      {
        file: ORDERS,
        find: 'withBars(record, [hold, barOf(record, "pause")])',
        replace: 'withBars(record, [barOf(record, "hold"), barOf(record, "pause")])',
      },
    ],
    stores: RECORDS,
  },
  {
    name: "break-leaves-a-turn",
    rule: "break never makes two leaders",
    bug: "a break does not lift what a term has reserved for its group",
    within: 2_000,
    patches: [
      {
        file: ORDERS,
        find: 'withBars(record, [hold, barOf(record, "pause")])',
        replace: 'withBars(record, [hold, barOf(record, "reservation"), barOf(record, "pause")])',
      },
    ],
    stores: RECORDS,
  },
  {
    name: "hand-over-drops-a-hold",
    rule: "a bar holds, and ends",
    bug: "a transfer of a lease that is free drops what is left of a minimum hold",
    within: 4_000,
    patches: [
      {
        file: ORDERS,
        find: 'const holdMs = bar?.kind === "hold" ? Math.ceil(bar.leftMs) : 0;',
        replace: "const holdMs = bar ? 0 : 0;",
      },
    ],
    stores: RECORDS,
  },
];
