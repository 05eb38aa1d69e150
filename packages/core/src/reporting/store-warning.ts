/** Something about the set-up of a store that a person should know. The store goes on working. */
export interface StoreWarning {
  /** Stable, for filters: the code of the process warning. */
  readonly code: `LEASEHOLD_${string}`;
  /** What is so, what follows, and what to do. */
  readonly message: string;
}
