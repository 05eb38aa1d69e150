import { once } from "node:events";
import type { Redis } from "ioredis";

/** A connection that is there, and whose errors are not those of this process: it connects again by itself. */
export async function connected(redis: Redis): Promise<Redis> {
  redis.on("error", () => undefined);
  await once(redis, "ready");
  return redis;
}
