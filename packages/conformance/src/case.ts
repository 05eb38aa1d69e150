import type { Scene } from "./scene.ts";

/**
 * The features that some cases need beyond a store:
 * - `faults`: a network that can fail, {@link Place.connectUnreliably}; `duplicates`: one that can deliver twice;
 * - `outages`: such a network, or a service that can be away, {@link Place.interrupt};
 * - `clocks`: a store that takes the clocks of its process, {@link Place.connectWith};
 * - `fence`: a write that the store's fence guards, {@link Place.guard};
 * - `foreign`: a way to put something else in the lease's place; `removal`: a way to delete it;
 * - `watch`: a store that pushes; `transfer`: one that can hand over;
 * - `store-clock`: one that can tell a process without a memory that a lease has expired, by itself or by its own clock;
 * - `reservation`: one that can tell when a reservation has ended; `occurrences`: one that keeps the occurrences of a schedule.
 */
export type Need =
  | "faults"
  | "duplicates"
  | "outages"
  | "clocks"
  | "fence"
  | "foreign"
  | "removal"
  | "watch"
  | "transfer"
  | "store-clock"
  | "reservation"
  | "occurrences";

/** One behaviour that every store must show. */
export interface CaseInfo {
  /** Stable, in kebab-case. */
  readonly id: string;
  /** The behaviour, as a sentence. */
  readonly title: string;
  readonly needs?: readonly Need[] | undefined;
}

/** A case that can be run. */
export interface Case extends CaseInfo {
  /** Rejects if the store does not behave. */
  readonly run: (scene: Scene) => Promise<void>;
}
