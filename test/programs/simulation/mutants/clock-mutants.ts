import type { StoreKind } from "../stores/stores.ts";
import type { Mutant } from "./mutant.ts";

/** The stores whose clock steps, and fails over to another server's. */
const STEPPING: readonly StoreKind[] = ["records with a clock"];

const STORE_AGE = "packages/core/src/records/store-age.ts";

/** Bugs in the age of a lease by a clock that may be wrong. */
export const CLOCK_MUTANTS: readonly Mutant[] = [
  {
    name: "veto-not-applied",
    rule: "two proofs of expiry",
    bug: "two readings of a store's clock that agree are believed, whatever the wall clocks of writer and reader say",
    within: 2_000,
    patches: [
      {
        file: STORE_AGE,
        find: "    if (trust.mayStep) this.#measured",
        replace: "    if (trust.mayStep && minMs < 0) this.#measured",
      },
      {
        file: STORE_AGE,
        find: "leastMs: Math.min(minMs, inAt.wallMs - nonceWallMs)",
        replace: "leastMs: minMs",
      },
    ],
    stores: STEPPING,
  },
  {
    name: "clock-step-believed",
    rule: "two proofs of expiry",
    bug: "where the wall clocks contradict the store's, its age counts all the same",
    within: 2_000,
    patches: [
      {
        file: STORE_AGE,
        find: "measured.minMs > mostMs + toleranceMs",
        replace: "measured.minMs > mostMs + Infinity",
      },
      {
        file: STORE_AGE,
        find: "leastMs: Math.min(minMs, inAt.wallMs - nonceWallMs)",
        replace: "leastMs: minMs",
      },
    ],
    stores: STEPPING,
  },
  {
    name: "wall-clocks-prove",
    rule: "two proofs of expiry",
    bug: "the wall clocks of writer and reader tell how old a lease is, instead of only casting doubt on the store's",
    within: 2_000,
    patches: [
      {
        file: STORE_AGE,
        find: "leastMs: Math.min(minMs, inAt.wallMs - nonceWallMs)",
        replace: "leastMs: inAt.wallMs - nonceWallMs",
      },
    ],
    stores: STEPPING,
  },
];
