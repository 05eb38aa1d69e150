export { Fleet, type FleetRunOptions } from "./fleet.ts";
export type { FleetEvents } from "./fleet-reporter.ts";
export type { FleetOptions } from "./fleet-options.ts";
export type { Shard, ShardTask } from "./holds.ts";
export type { ShardsOption } from "./shard-list.ts";
export { evictMember, releaseShard, resetFleet } from "./orders.ts";
export { readFleet, type FleetStatus, type MemberStatus, type ShardStatus } from "./fleet-status.ts";
