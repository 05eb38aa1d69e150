/**
 * The features that some cases need beyond a store:
 * - `faults`: a network that can fail, {@link Place.connectUnreliably}; `duplicates`: one that can deliver twice;
 * - `outages`: such a network, or a service that can be away, {@link Place.interrupt};
 * - `clocks`: a store that takes the clocks of its process, {@link Place.connectWith};
 * - `fence`: a write that the store's fence guards, {@link Place.guard};
 * - `foreign`: a way to put something else in the lease's place; `removal`: a way to delete it;
 * - `watch`: a store that pushes; `transfer`: one that can hand over;
 * - `store-clock`: one that can tell a process without a memory that a lease has expired, by itself or by its own clock;
 * - `reservation`: one that can tell when a reservation has ended; `occurrences`: one that keeps the occurrences of a schedule;
 * - `record`: one that keeps a record of an election that nobody leads: whoever reads is told its last term, the next is one more,
 *   and `minTerm` raises it.
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
  | "occurrences"
  | "record";
