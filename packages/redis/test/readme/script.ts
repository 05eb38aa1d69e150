import type { Leadership } from "@leasehold/core";
import type { RedisLeaseStore } from "@leasehold/redis";
import type { Redis } from "ioredis";

/** Adds to the total as the leader. Redis rejects it with LEASEHOLD_FENCED once this leadership has ended. */
export async function addToTotal(redis: Redis, store: RedisLeaseStore, leadership: Leadership, amount: number): Promise<void> {
  const { guard, key, value } = store.fenceScript(leadership);
  const script = `${guard}\nreturn redis.call('INCRBY', KEYS[1], ARGV[1])`;
  await redis.eval(script, 2, "total", key, amount, value);
}
