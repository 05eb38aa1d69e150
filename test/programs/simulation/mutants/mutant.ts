import type { Alone } from "../seeds.ts";
import type { StoreKind } from "../stores/stores.ts";

/** A change of one source file. The file contains `find` exactly once. */
export interface Patch {
  /** The path from the root of the repository. */
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
  /** The number of runs, from seed 1 on, in which it has to be caught. */
  readonly within: number;
  /** The stores on which it can show. All by default. */
  readonly stores?: readonly StoreKind[] | undefined;
  /** The part among which it is hunted, without electors. */
  readonly alone?: Alone | undefined;
}
