import { once } from "node:events";
import type { Redis } from "ioredis";

/** Returns an open connection. Its errors do not end this process, because it reconnects by itself. */
export async function connected(redis: Redis): Promise<Redis> {
  redis.on("error", () => undefined);
  await once(redis, "ready");
  return redis;
}
