import type { StoreKind } from "../stores/stores.ts";
import type { Mutant } from "./mutant.ts";

const REDIS: readonly StoreKind[] = ["redis"];
const CONNECTIONS = "packages/redis/src/connections.ts";
const RECORDS = "packages/redis/src/redis-record-store.ts";

/** Bugs in the provider of Redis. */
export const REDIS_MUTANTS: readonly Mutant[] = [
  {
    name: "redis-silent-connection-kept",
    rule: "a connection is kept only after success",
    bug: "on Redis, a request that got no answer leaves its connection to the next one",
    within: 500,
    patches: [{ file: CONNECTIONS, find: "isSilence(signal.reason) && sentOn !== undefined", replace: "false" }],
    stores: REDIS,
  },
  {
    name: "redis-replica-kept",
    rule: "a connection is kept only after success",
    bug: "on Redis, a connection to a server that has become a replica is used again",
    within: 500,
    patches: [{ file: CONNECTIONS, find: "if (isOver || isReplica(error))", replace: "if (isOver && !isReplica(error))" }],
    stores: REDIS,
  },
  {
    name: "redis-age-without-wall-clock",
    rule: "two proofs of expiry",
    bug: "on Redis, an age counts by a clock that has stepped, because no wall clock objects",
    within: 4_000,
    patches: [{ file: RECORDS, find: "nonceWallMs: Number(nonceWallMs),", replace: "nonceWallMs: 0," }],
    stores: REDIS,
  },
  {
    name: "redis-fence-left-open",
    rule: "a fence lets one leadership pass",
    bug: "on Redis, the fence stays open after a break or a release",
    within: 1_000,
    patches: [
      {
        file: RECORDS,
        find: "const guards = fence ?",
        replace: "const guards = fence && fence.termId !== null ?",
      },
    ],
    stores: REDIS,
  },
  {
    name: "redis-undurable-counts",
    rule: "nothing counts by reading",
    bug: "the provider of Redis claims that a read shows only what a failover keeps",
    within: 4_000,
    patches: [{ file: RECORDS, find: "showsUndurable: true,", replace: "showsUndurable: false," }],
    stores: REDIS,
  },
];
