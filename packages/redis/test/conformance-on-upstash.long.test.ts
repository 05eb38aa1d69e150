import { Redis } from "@upstash/redis";
import { runOnRedis } from "./run-on-redis.ts";
import { startUpstashFront, TOKEN } from "./upstash-front.ts";

const client = (port: number): object => new Redis({ url: `http://127.0.0.1:${port}`, token: TOKEN, enableTelemetry: false });

await runOnRedis("upstash", client, true, { startFront: startUpstashFront, lacks: { watch: "REST cannot push" } });
