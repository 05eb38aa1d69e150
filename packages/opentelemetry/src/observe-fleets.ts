import type { BatchObservableCallback, Meter } from "@opentelemetry/api";
import { fleetMetrics } from "@leasehold/core/diagnostics";

/** Measures the fleets of this process. Attributes name the fleet, and never a shard or a member. */
export function observeFleets(meter: Meter): () => void {
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

  const measurement = fleetMetrics((fleet, event, count) =>
    events.add(count, { "leasehold.fleet": fleet, "leasehold.event": event }),
  );
  const observe: BatchObservableCallback = (result) => {
    for (const { fleet, held: here, totals } of measurement.fleets()) {
      const attributes = { "leasehold.fleet": fleet };
      result.observe(held, here, attributes);
      if (!totals) continue;
      for (const state of ["held", "leaving", "free"] as const) {
        result.observe(shards, totals[state], { ...attributes, "leasehold.state": state });
      }
      result.observe(members, totals.members, attributes);
      result.observe(imbalance, totals.imbalance, attributes);
      result.observe(plan, totals.planBytes, attributes);
    }
  };
  meter.addBatchObservableCallback(observe, gauges);
  return () => {
    measurement.stop();
    meter.removeBatchObservableCallback(observe, gauges);
  };
}
