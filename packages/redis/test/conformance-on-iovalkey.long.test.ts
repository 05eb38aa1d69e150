import { Redis } from "iovalkey";
import { runOnRedis } from "./run-on-redis.ts";

await runOnRedis("iovalkey", (port) => new Redis(port, "127.0.0.1", { lazyConnect: true }), true);
