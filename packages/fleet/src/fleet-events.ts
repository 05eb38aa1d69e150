import { defineOptions } from "@leasehold/core/provider";
import type { Shard } from "./hold.ts";

/** The events of a {@link Fleet}. They notify: a listener that throws changes nothing. */
export interface FleetEvents {
  /** The member has a session. It gets shards with the next plan. */
  readonly joined: { readonly slot: number; readonly term: number };
  /** The session was renewed, and with it all shards of this member. */
  readonly renewed: { readonly slot: number; readonly term: number };
  /** The session is over, and so are all shards of this member. */
  readonly left: { readonly slot: number; readonly term: number };
  /** The task of a shard begins. */
  readonly shardStarted: { readonly shard: Shard };
  /** The member has let a shard go: it moves, its task returned, or its session ended. */
  readonly shardStopped: { readonly shard: Shard };
  /** The task of a shard threw, stalled or outlasted its drain. The shard rests, and another member gets it. */
  readonly shardFailed: { readonly shard: Shard; readonly error: unknown };
  /** A task has not settled `drainTimeoutMs` after its signal aborted. Its shard is over. */
  readonly overrun: { readonly shard: Shard };
  /** This member coordinates from now on; `term` is that of the head. */
  readonly coordinating: { readonly term: number };
}

export const EVENT_NAMES: Readonly<Record<keyof FleetEvents, true>> = defineOptions<FleetEvents>()(
  "joined renewed left shardStarted shardStopped shardFailed overrun coordinating",
);
