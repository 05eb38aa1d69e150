/** The abilities of a store. Whatever depends on them reads them here. */
export interface LeaseStoreCapabilities {
  /** The judge of a lease's expiry: the service itself, or standbys by `RecordLeaseStore`. */
  readonly expiry: "native" | "observed";
  /**
   * `push` where the store wakes standbys at each acquisition, release and break; `poll` where it must be polled for those. Renewals are
   * polled for everywhere: where a store pushes, once each, and so a standby may learn of a leader's last one up to a renewal interval late.
   */
  readonly watch: "push" | "poll";
  /** The shortest lease, in milliseconds. */
  readonly minLeaseMs: number;
  /** The longest lease, in milliseconds. */
  readonly maxLeaseMs: number;
  /** Leases must be a multiple of this. */
  readonly leaseGranularityMs: number;
  /**
   * The round trips that one attempt may take, one after the other: `timing()` says how long each may be. @defaultValue 2: a
   * request, and a reading where its reply was lost
   */
  readonly roundTrips?: number | undefined;
  /**
   * True where a read may show a write that a failover undoes later, because it was never acknowledged. Nothing counts there by
   * reading: whatever was found to be ours, or done, counts once a later write to that record is acknowledged. @defaultValue false
   */
  readonly showsUndurable?: boolean | undefined;
  /** The longest value a leader can publish, in bytes of UTF-8. */
  readonly maxValueBytes: number;
  /** `atomic`: a stale leader's guarded write always fails. `after-seal`: once the newer leader has sealed the target. */
  readonly fence: "atomic" | "after-seal" | "none";
  /** The time that a leader asked to hand over has to drain: all that it needs, or the rest of the lease. */
  readonly transfer: { readonly drain: "full" | "remaining-lease" } | undefined;
  /** True where `repair` can set the term after which the next one comes. @defaultValue false */
  readonly repair?: boolean | undefined;
  /** True where `pause` and `resume` are supported. @defaultValue false */
  readonly pause?: boolean | undefined;
  /** The store's own clock as a judge of age, where it has one. */
  readonly storeClock: StoreClock | undefined;
  /**
   * The delay with which the end of a {@link Reservation} may be found, by the store's clock; undefined where there is none to
   * judge it.
   */
  readonly reservation?: { readonly toleranceMs: number } | undefined;
}

/** The trust in a store's own clock as a judge of a lease's age. */
export interface StoreClock {
  /** The delay with which an expiry may be found by it; and, where it may step, the error that may go unnoticed. */
  readonly toleranceMs: number;
  /** True where it is exact enough for electors too. */
  readonly exact: boolean;
  /**
   * True where it can be set, or be another machine's after a failover. It is then believed only where the wall clocks of
   * writer and reader agree with it to `toleranceMs`, and the margin of the shortest lease covers as much.
   * @defaultValue false
   */
  readonly mayStep?: boolean | undefined;
}
