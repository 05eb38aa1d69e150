import type { BatchObservableCallback, Meter } from "@opentelemetry/api";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { FLEET_CHANNEL, type FleetHandle, type PublishedFleetEvent } from "@leasehold/core/diagnostics";

/** The events that are counted, with their names as an attribute. Other events are too frequent. */
const EVENTS: Readonly<Record<string, string>> = {
  joined: "joined",
  left: "left",
  shardStarted: "shard_started",
  shardFailed: "shard_failed",
  overrun: "overrun",
  moved: "moved",
  coordinating: "coordinating",
};

/** Measures the fleets of this process. Attributes name the fleet, and never a shard or a member. */
export function observeFleets(meter: Meter): () => void {
  /** The members of this process, by their fleets. */
  const fleets = new Map<string, Set<WeakRef<FleetHandle>>>();
  const events = meter.createCounter("leasehold.fleet.events", {
    description: "Events of members in this process; moved: shards that its coordinator moved for balance.",
    unit: "{event}",
  });
  const gauge = (name: string, description: string, unit: string) =>
    meter.createObservableGauge(`leasehold.fleet.${name}`, { description, unit });
  const held = gauge("held", "Shards that this process holds, valid at this moment.", "{shard}");
  const shards = gauge("shards", "Shards of the whole fleet by their state. Only its coordinator reports them.", "{shard}");
  const members = gauge("members", "Members in the plan. Only the coordinator reports them.", "{member}");
  const imbalance = gauge("imbalance", "The most shards of a member less the least. Only the coordinator reports it.", "{shard}");
  const plan = gauge("plan.size", "The size of the plan. Only the coordinator reports it.", "By");
  const gauges = [held, shards, members, imbalance, plan];

  const onEvent = (message: unknown): void => {
    const { fleet, name, count, member } = message as PublishedFleetEvent;
    fleets.set(fleet, (fleets.get(fleet) ?? new Set()).add(member));
    const event = EVENTS[name];
    if (event !== undefined) events.add(count, { "leasehold.fleet": fleet, "leasehold.event": event });
  };
  const observe: BatchObservableCallback = (result) => {
    for (const [fleet, known] of fleets) {
      const attributes = { "leasehold.fleet": fleet };
      for (const member of known) if (!member.deref()) known.delete(member);
      const all = [...known].flatMap((member) => member.deref() ?? []);
      result.observe(
        held,
        all.reduce((sum, one) => sum + one.held, 0),
        attributes,
      );
      const totals = all.map((one) => one.totals).find((one) => one !== undefined);
      if (!totals) continue;
      for (const state of ["held", "leaving", "free"] as const) {
        result.observe(shards, totals[state], { ...attributes, "leasehold.state": state });
      }
      result.observe(members, totals.members, attributes);
      result.observe(imbalance, totals.imbalance, attributes);
      result.observe(plan, totals.planBytes, attributes);
    }
  };
  subscribe(FLEET_CHANNEL, onEvent);
  meter.addBatchObservableCallback(observe, gauges);
  return () => {
    unsubscribe(FLEET_CHANNEL, onEvent);
    meter.removeBatchObservableCallback(observe, gauges);
  };
}
