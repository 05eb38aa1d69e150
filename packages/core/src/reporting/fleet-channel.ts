/** The `node:diagnostics_channel` of every event of every member of a fleet: {@link PublishedFleetEvent}. */
export const FLEET_CHANNEL = "leasehold:fleet";

/** A whole fleet, as its coordinator knows it. */
export interface FleetTotals {
  readonly members: number;
  /** The shards that members hold and are not asked to give up. */
  readonly held: number;
  readonly leaving: number;
  /** The shards that no member has. */
  readonly free: number;
  /** The most shards of one member, minus the fewest shards of one member. */
  readonly imbalance: number;
  readonly planBytes: number;
}

/** A member of a fleet, for gauges. Everything is computed at each call. */
export interface FleetHandle {
  /** The shards of this member that are valid at this moment. */
  readonly held: number;
  /** `undefined` unless this member coordinates the fleet. */
  readonly totals: FleetTotals | undefined;
}

export interface PublishedFleetEvent {
  readonly fleet: string;
  readonly memberId: string;
  /** An event of `@leasehold/fleet`, or `moved`: the coordinator moves shards for balance. */
  readonly name: string;
  /** The number of shards that move; 1 for any other event. */
  readonly count: number;
  /** The same object in each message of one member. It is weak, so that a listener keeps no member alive. */
  readonly member: WeakRef<FleetHandle>;
}
