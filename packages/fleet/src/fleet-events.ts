import { defineOptions } from "@leasehold/core/provider";
import type { Shard } from "./hold.ts";

/** The events of a {@link Fleet}. A listener that throws changes nothing. */
export interface FleetEvents {
  /** The member has acquired a session. The next plan can grant shards to it. */
  readonly joined: { readonly slot: number; readonly term: number };
  /** The session was renewed. This renews all shards of the member. */
  readonly renewed: { readonly slot: number; readonly term: number };
  /** The session is over. All shards of the member are over, too. */
  readonly left: { readonly slot: number; readonly term: number };
  /** The task of a shard begins. */
  readonly shardStarted: { readonly shard: Shard };
  /** The member has let a shard go: the shard moves, its task returned, or the session ended. */
  readonly shardStopped: { readonly shard: Shard };
  /** The task of a shard threw, stalled or outlasted its drain. The shard rests, and another member gets it. */
  readonly shardFailed: { readonly shard: Shard; readonly error: unknown };
  /** A task still runs `drainTimeoutMs` after its signal aborted. The shard is no longer valid. */
  readonly overrun: { readonly shard: Shard };
  /** This member coordinates from now on. `term` is the term of the head. */
  readonly coordinating: { readonly term: number };
}

export const EVENT_NAMES: Readonly<Record<keyof FleetEvents, true>> = defineOptions<FleetEvents>()(
  "joined renewed left shardStarted shardStopped shardFailed overrun coordinating",
);
