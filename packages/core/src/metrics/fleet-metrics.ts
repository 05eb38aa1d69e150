import { listen } from "../reporting/diagnostics.ts";
import { FLEET_CHANNEL, type FleetHandle, type FleetTotals, type PublishedFleetEvent } from "../reporting/fleet-channel.ts";

/** The events that are counted, and their names for metrics. The others are too frequent. */
const EVENTS: Readonly<Record<string, string>> = {
  joined: "joined",
  left: "left",
  shardStarted: "shard_started",
  shardFailed: "shard_failed",
  overrun: "overrun",
  moved: "moved",
  coordinating: "coordinating",
};

/** One fleet of which this process has members, at this moment. */
export interface MeasuredFleet {
  readonly fleet: string;
  /** The shards that this process holds, valid at this moment. */
  readonly held: number;
  /** The whole fleet; `undefined` unless a member of this process coordinates it. */
  readonly totals: FleetTotals | undefined;
}

export interface FleetMeasurement {
  /** Returns every fleet of which anything was published since the start. */
  fleets(): readonly MeasuredFleet[];
  stop(): void;
}

/**
 * Measures the fleets of this process by the diagnostics channel. It keeps no member alive, and never names a shard or a member.
 * @param onEvent called with each counted event of a fleet. `moved` counts the shards that move for balance.
 */
export function fleetMetrics(onEvent: (fleet: string, event: string, count: number) => void): FleetMeasurement {
  const members = new Map<string, Set<WeakRef<FleetHandle>>>();
  const stop = listen(FLEET_CHANNEL, ({ fleet, name, count, member }: PublishedFleetEvent) => {
    members.set(fleet, (members.get(fleet) ?? new Set()).add(member));
    const event = EVENTS[name];
    if (event !== undefined) onEvent(fleet, event, count);
  });
  return {
    fleets: () =>
      [...members].map(([fleet, known]) => {
        for (const member of known) if (!member.deref()) known.delete(member);
        const all = [...known].flatMap((member) => member.deref() ?? []);
        const held = all.reduce((sum, one) => sum + one.held, 0);
        return { fleet, held, totals: all.map(({ totals }) => totals).find((totals) => totals !== undefined) };
      }),
    stop,
  };
}
