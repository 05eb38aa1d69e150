import type { StoreUnderTest } from "@leasehold/conformance";
import { redisMissing, startRedis } from "@leasehold/test-kit/backends/redis";
import { runConformance, runConformanceUnless, SOME_ROUNDS } from "@leasehold/test-kit/conformance/run-conformance";
import { Redis } from "ioredis";
import { afterAll, beforeAll } from "vitest";
import { RedisPlace, type MakeClient } from "./redis-place.ts";

/** Starts a service before the server. Its port takes the requests. */
export type Front = (redisPort: number) => Promise<{ readonly port: number; stop(): Promise<void> }>;

/** Registers the suite for a client library in Vitest, on one server. */
export async function runOnRedis(
  library: string,
  client: MakeClient,
  onlyEachKindOfRequest = false,
  { startFront, lacks }: { readonly startFront?: Front; readonly lacks?: StoreUnderTest["lacks"] } = {},
): Promise<void> {
  const name = `redis (${library})`;
  await runConformanceUnless(redisMissing(), name, () => {
    let server: Awaited<ReturnType<typeof startRedis>>;
    let admin: Redis;
    let front: Awaited<ReturnType<Front>> | undefined;
    let places = 0;
    beforeAll(async () => {
      server = await startRedis();
      admin = new Redis(server.port);
      front = await startFront?.(server.port);
    });
    afterAll(async () => {
      await front?.stop();
      admin?.disconnect();
      await server?.stop();
    });
    runConformance(
      {
        name,
        leaseMs: 15_000,
        rounds: SOME_ROUNDS,
        requests: { acquire: 1, renew: 1, release: 1, look: 1, list: [1, 1] },
        lacks: { duplicates: "a TCP connection delivers each request once", ...lacks },
        async open() {
          places += 1;
          return new RedisPlace(admin, server.port, `place-${places}:`, client, front?.port);
        },
      },
      onlyEachKindOfRequest ? { onlyEachKindOfRequest } : {},
    );
  });
}
