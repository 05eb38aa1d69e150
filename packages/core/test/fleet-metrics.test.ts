import { channel } from "node:diagnostics_channel";
import { FLEET_CHANNEL, fleetMetrics, type FleetHandle, type PublishedFleetEvent } from "@leasehold/core/diagnostics";
import { expect, test } from "vitest";

const TOTALS = { members: 2, held: 5, leaving: 0, free: 1, imbalance: 1, planBytes: 80 };
const COORDINATOR: FleetHandle = { held: 3, totals: TOTALS };
const MEMBER: FleetHandle = { held: 2, totals: undefined };
const ALONE: FleetHandle = { held: 1, totals: undefined };

function publish(fleet: string, name: string, handle: FleetHandle, count = 1): void {
  channel(FLEET_CHANNEL).publish({
    fleet,
    memberId: "m",
    name,
    count,
    member: new WeakRef(handle),
  } satisfies PublishedFleetEvent);
}

test("the metrics of fleets count the rare events, add up each fleet's shards, and end with stop", () => {
  const counted: unknown[] = [];
  const measurement = fleetMetrics((...event) => counted.push(event));
  publish("west", "shardStarted", MEMBER);
  publish("west", "moved", COORDINATOR, 4);
  publish("east", "renewed", ALONE);
  measurement.stop();
  publish("west", "joined", MEMBER);

  expect(counted).toEqual([
    ["west", "shard_started", 1],
    ["west", "moved", 4],
  ]);
  expect(measurement.fleets()).toEqual([
    { fleet: "west", held: 5, totals: TOTALS },
    { fleet: "east", held: 1, totals: undefined },
  ]);
});

test("each rare event is counted by its name for metrics", () => {
  const counted: string[] = [];
  const measurement = fleetMetrics((_, event) => counted.push(event));
  for (const name of ["joined", "left", "shardStarted", "shardFailed", "overrun", "moved", "coordinating"]) {
    publish("west", name, MEMBER);
  }
  measurement.stop();

  expect(counted).toEqual(["joined", "left", "shard_started", "shard_failed", "overrun", "moved", "coordinating"]);
});
