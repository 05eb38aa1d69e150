export interface LeaseStoreCapabilities {
  /** The judge of expiry: the service itself (`native`), or standbys by `RecordLeaseStore` (`observed`). */
  readonly expiry: "native" | "observed";
  /**
   * `push`: the store wakes standbys at each acquisition, release and break. They then poll once for each renewal, and may learn
   * of the last one an interval late. `poll`: standbys must poll for all of those.
   */
  readonly watch: "push" | "poll";
  readonly minLeaseMs: number;
  readonly maxLeaseMs: number;
  /** Leases must be a multiple of this. */
  readonly leaseGranularityMs: number;
  /** The sequential round trips that one attempt may take. @defaultValue 2: a request, and a read if its reply was lost */
  readonly roundTrips?: number | undefined;
  /** A failover may undo what a read shows: it counts once a later write to the record is acknowledged. @defaultValue false */
  readonly showsUndurable?: boolean | undefined;
  /** A failover may undo an acknowledged write, so that two may lead until one of them reads again. @defaultValue false */
  readonly losesAcknowledged?: boolean | undefined;
  /** In bytes of UTF-8. */
  readonly maxValueBytes: number;
  /** `atomic`: a guarded write of a stale leader always fails. `after-seal`: once the newer leader has sealed the target. */
  readonly fence: "atomic" | "after-seal" | "none";
  /** The leader's time to drain: all that it needs (`full`), or the rest of the lease. Undefined where there are no transfers. */
  readonly transfer: { readonly drain: "full" | "remaining-lease" } | undefined;
  readonly repair?: boolean | undefined;
  /** True where `pause` and `resume` are supported. @defaultValue false */
  readonly pause?: boolean | undefined;
  readonly list?: boolean | undefined;
  /** True where the store can keep a fleet of `@leasehold/fleet`. Its records are elections of the store. @defaultValue false */
  readonly fleet?: boolean | undefined;
  readonly storeClock: StoreClock | undefined;
  /** The most by which the end of a {@link Reservation} may be noticed late. Undefined where no clock can judge it. */
  readonly reservation?: { readonly toleranceMs: number } | undefined;
}

export interface StoreClock {
  /** The most by which the clock may notice an expiry late. Where the clock may step, also the error that may go unnoticed. */
  readonly toleranceMs: number;
  /** True where the clock is exact enough to count for every reader, and not only with `expiry: "store-clock"`. */
  readonly exact: boolean;
  /**
   * True where the clock can be set or replaced. It is then believed only if the wall clocks of writer and reader agree to within
   * `toleranceMs`. The safety margin of the shortest lease covers that. @defaultValue false
   */
  readonly mayStep?: boolean | undefined;
}
