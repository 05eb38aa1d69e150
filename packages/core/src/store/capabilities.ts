/** The abilities of a store. Code that depends on an ability reads it here. */
export interface LeaseStoreCapabilities {
  /** Says who finds that a lease has expired: the service itself (`native`), or standbys, by `RecordLeaseStore` (`observed`). */
  readonly expiry: "native" | "observed";
  /**
   * `push`: the store wakes standbys at each acquisition, release and break. `poll`: standbys must poll for those. Standbys poll
   * for renewals on every store. Where the store pushes, they poll once for each renewal. A standby may then learn of a leader's
   * last renewal up to one renewal interval late.
   */
  readonly watch: "push" | "poll";
  /** The shortest lease, in milliseconds. */
  readonly minLeaseMs: number;
  /** The longest lease, in milliseconds. */
  readonly maxLeaseMs: number;
  /** Leases must be a multiple of this, in milliseconds. */
  readonly leaseGranularityMs: number;
  /**
   * The number of sequential round trips that one attempt may take. `timing()` says how long each may be. @defaultValue 2: a
   * request, and a read if its reply was lost
   */
  readonly roundTrips?: number | undefined;
  /**
   * True where a read may show a write that was never acknowledged, so that a failover may undo it. On such a store a read alone
   * proves nothing. A record that was found to be ours, or done, counts once a later write to it is acknowledged. @defaultValue
   * false
   */
  readonly showsUndurable?: boolean | undefined;
  /** The longest value a leader can publish, in bytes of UTF-8. */
  readonly maxValueBytes: number;
  /**
   * `atomic`: a guarded write of a stale leader always fails. `after-seal`: it fails once the newer leader has sealed the target.
   * `none`: the store has no fence.
   */
  readonly fence: "atomic" | "after-seal" | "none";
  /**
   * The time that a transfer leaves the leader to drain: all that it needs (`full`), or the rest of the lease.
   * Undefined where the store has no transfers.
   */
  readonly transfer: { readonly drain: "full" | "remaining-lease" } | undefined;
  /** True where `repair` can set the least next term. @defaultValue false */
  readonly repair?: boolean | undefined;
  /** True where `pause` and `resume` are supported. @defaultValue false */
  readonly pause?: boolean | undefined;
  /** True where `list` is supported. @defaultValue false */
  readonly list?: boolean | undefined;
  /** The store's own clock, where it may judge the age of a lease. */
  readonly storeClock: StoreClock | undefined;
  /**
   * The most by which the store's clock may notice the end of a {@link Reservation} late. Undefined where the store has no clock
   * to judge it.
   */
  readonly reservation?: { readonly toleranceMs: number } | undefined;
}

/** Says how far a store's own clock is trusted to judge the age of a lease. */
export interface StoreClock {
  /** The most by which the clock may notice an expiry late. Where the clock may step, also the error that may go unnoticed. */
  readonly toleranceMs: number;
  /** True where the clock is exact enough to count for every reader, and not only with `expiry: "store-clock"`. */
  readonly exact: boolean;
  /**
   * True where somebody can set the clock, or where a failover can replace it by another machine's. The clock is then believed
   * only if the wall clocks of writer and reader agree with it to within `toleranceMs`. The safety margin of the shortest lease
   * covers that tolerance.
   * @defaultValue false
   */
  readonly mayStep?: boolean | undefined;
}
