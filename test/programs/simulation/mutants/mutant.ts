import type { Alone } from "../seeds.ts";
import type { StoreKind } from "../stores/stores.ts";

/** A change of one source file: `find` stands in it exactly once. */
export interface Patch {
  /** From the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A bug that the simulation has to catch. */
export interface Mutant {
  readonly name: string;
  /** The invariant that it breaks, by its name in ARCHITECTURE.md. */
  readonly rule: string;
  /** The bug, for people. */
  readonly bug: string;
  readonly patches: readonly Patch[];
  /** In how many runs, from seed 1 on, it has to be caught. */
  readonly within: number;
  /** Where it can show at all; everywhere by default. */
  readonly stores?: readonly StoreKind[] | undefined;
  /** It is hunted without electors, among these. */
  readonly alone?: Alone | undefined;
}
