export interface LeaseStoreCapabilities {
  /** The judge of expiry: the service itself (`native`), or standbys by `RecordLeaseStore` (`observed`). */
  readonly expiry: "native" | "observed";
  /**
   * `push`: the store wakes standbys at each acquisition, release and break. Standbys then poll once for each renewal, and may
   * learn of the last renewal one interval late. `poll`: standbys must poll to learn of each change.
   */
  readonly watch: "push" | "poll";
  readonly minLeaseMs: number;
  readonly maxLeaseMs: number;
  /** Leases must be a multiple of this. */
  readonly leaseGranularityMs: number;
  /** The sequential round trips that one attempt may take. @defaultValue 2: a request, and a read if its reply was lost */
  readonly roundTrips?: number | undefined;
  /** A failover may undo what a read shows, until a later write to the record is acknowledged. @defaultValue false */
  readonly showsUndurable?: boolean | undefined;
  /** A failover may undo an acknowledged write, so that two may lead until one of them reads again. @defaultValue false */
  readonly losesAcknowledged?: boolean | undefined;
  /** In bytes of UTF-8. */
  readonly maxValueBytes: number;
  /** `atomic`: a guarded write of a stale leader always fails. `after-seal`: it fails after the newer leader's seal. */
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
  /** The longest delay until the end of a {@link Reservation} is noticed. Undefined where no clock can show that end. */
  readonly reservation?: { readonly toleranceMs: number } | undefined;
}

export interface StoreClock {
  /** The longest delay until the clock shows an expiry. Where the clock may step, also its largest unnoticed error. */
  readonly toleranceMs: number;
  /** True where the clock is exact enough to count for every reader, and not only with `expiry: "store-clock"`. */
  readonly exact: boolean;
  /**
   * True where the clock can be set or replaced. It is then believed only if the wall clocks of writer and reader agree to within
   * `toleranceMs`. The safety margin of the shortest lease covers that. @defaultValue false
   */
  readonly mayStep?: boolean | undefined;
}
