import { readKnownMutants, type KnownMutant } from "@leasehold/test-kit/mutants/known-mutants";
import type { Alone } from "../seeds.ts";
import type { StoreKind } from "../stores/stores.ts";

/** A bug that the simulation has to catch. It breaks an invariant of ARCHITECTURE.md. */
export interface Mutant extends KnownMutant {
  /** The number of runs in which it has to be caught. */
  readonly within: number;
  /** The first seed of the test. Any seed would do, but hundreds of runs take a while. */
  readonly from: number;
  /** The stores on which it can show. All by default. */
  readonly stores?: readonly StoreKind[] | undefined;
  /** The part among which it is hunted, without electors. */
  readonly alone?: Alone | undefined;
}

const ORDERS = /^within (?<within>\d+)(?: from (?<from>\d+))?(?: on (?<stores>.+))?(?: among (?<alone>.+))?$/;

/** The bugs of `*.diff` beside this file. Each has to exist. */
export const MUTANTS: readonly Mutant[] = readKnownMutants(import.meta.dirname).map((mutant) => {
  const orders = ORDERS.exec(mutant.orders)?.groups;
  if (!orders)
    throw new SyntaxError(`${mutant.name}: '${mutant.orders}' is not 'within N [from SEED] [on STORES] [among PART]'.`);
  const { within, from = 1, stores, alone } = orders;
  return {
    ...mutant,
    within: Number(within),
    from: Number(from),
    stores: stores?.split(", ") as StoreKind[] | undefined,
    alone: alone as Alone | undefined,
  };
});
