import type { PoolClient } from "pg";
import { Fleet, readFleet, releaseShard, resetFleet } from "@leasehold/fleet";
import { SqlLeaseStore } from "@leasehold/sql";

declare const stop: AbortController;
declare function handleNext(shard: string, signal: AbortSignal): Promise<void>;
declare function importNext(signal: AbortSignal): Promise<void>;
declare function lead(signal: AbortSignal): Promise<void>;
declare function tenants(): Promise<string[]>;
declare const isLarge: boolean;
declare const client: PoolClient;

export async function partitions(): Promise<void> {
  const store = new SqlLeaseStore({ postgres: "postgres://app@db.internal/app" });
  const fleet = new Fleet({ store, fleet: "orders", shards: 64 });
  await fleet.run(
    async (shard) => {
      while (!shard.signal.aborted) await handleNext(shard.name, shard.signal);
    },
    { signal: stop.signal },
  );
}

export async function fenced(store: SqlLeaseStore): Promise<void> {
  const fleet = new Fleet({ store, fleet: "orders", shards: 64 });
  await fleet.run(async (shard) => {
    await client.query("BEGIN");
    await store.fence(shard, client);
    await client.query("UPDATE orders SET state = 'sent' WHERE shard = $1", [shard.name]);
    await client.query("COMMIT");
  });
}

export async function atMost(store: SqlLeaseStore): Promise<void> {
  const importers = new Fleet({ store, fleet: "importers", atMost: 3 });
  await importers.run(({ signal }) => importNext(signal), { signal: stop.signal });
}

export async function preferred(store: SqlLeaseStore): Promise<void> {
  const scheduler = new Fleet({ store, fleet: "scheduler", shards: 1, priority: isLarge ? 2 : 1 });
  await scheduler.run(({ signal }) => lead(signal), { signal: stop.signal });
}

export async function named(store: SqlLeaseStore): Promise<void> {
  const fleet = new Fleet({ store, fleet: "tenants", shards: () => tenants(), maxShards: 50 });
  await fleet.run(({ name, signal }) => handleNext(name, signal), { signal: stop.signal });
}

export async function status(store: SqlLeaseStore): Promise<void> {
  const { members, shards } = await readFleet(store, "orders");
  for (const { memberId, state, shards: count } of members) console.log(memberId, state, count);
  for (const { name, state, memberId, term } of shards) console.log(name, state, memberId, term);
}

export async function orders(store: SqlLeaseStore): Promise<void> {
  await releaseShard(store, "orders", "17", { ifTerm: 1_774_000_012 });
  await store.break("fleet/orders/member/3", { reason: "host-3 is stuck", ifTerm: 9 });
  await resetFleet(store, "orders");
}
