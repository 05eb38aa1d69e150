/**
 * The features that some cases need:
 * - `faults`: a network that can fail, {@link TestEnvironment.connectUnreliably}; `duplicates`: a network that can deliver twice;
 * - `outages`: such a network, or a service that can be interrupted, {@link TestEnvironment.interrupt};
 * - `clocks`: a store that uses the clocks of its process, {@link TestEnvironment.connectWith};
 * - `fence`: a write that the store's fence guards, {@link TestEnvironment.guard};
 * - `foreign`: a way to put other data in the lease's place; `removal`: a way to delete it;
 * - `watch`: a store that pushes; `transfer`: a store that can transfer the lease to a named candidate;
 * - `store-clock`: a store that can tell a process without a memory that a lease has expired, by itself or by its own clock;
 * - `reservation`: a store that knows when a reservation has ended;
 * - `occurrences`: a store that keeps the occurrences of a schedule; `list`: a store that can list its elections;
 * - `record`: a store that keeps the record of an election without a leader. Readers get its last term, the next term is one
 *   more, and `minTerm` raises it.
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
  | "list"
  | "record";
