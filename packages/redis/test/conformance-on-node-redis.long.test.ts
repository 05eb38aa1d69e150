import { createClient } from "redis";
import { runOnRedis } from "./run-on-redis.ts";

await runOnRedis("redis", (port) => createClient({ url: `redis://127.0.0.1:${port}` }), true);
