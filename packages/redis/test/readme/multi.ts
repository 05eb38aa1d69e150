import type { Leadership } from "@leasehold/core";
import type { RedisLeaseStore } from "@leasehold/redis";
import type { RedisClientType } from "redis";

/** Writes two keys as the leader, or throws: a FencedError, or the WatchError of redis. */
export async function closeMonth(client: RedisClientType, store: RedisLeaseStore, leadership: Leadership): Promise<void> {
  const socket = { ...client.options.socket, reconnectStrategy: false } as const;
  const connection = await client.duplicate({ socket }).on("error", console.error).connect();
  try {
    await store.fence(leadership, connection);
    await connection.multi().set("month", "closed").incr("closings").exec();
  } finally {
    connection.destroy();
  }
}
