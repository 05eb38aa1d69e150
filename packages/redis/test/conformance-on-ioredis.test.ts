import { Redis } from "ioredis";
import { runOnRedis } from "./run-on-redis.ts";

await runOnRedis("ioredis", (port) => new Redis(port, "127.0.0.1", { lazyConnect: true }));
