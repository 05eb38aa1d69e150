import { redisMissing, startRedis } from "@leasehold/test-kit/backends/redis";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { RedisLeaseStore } from "@leasehold/redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { test as base } from "vitest";

/** True if the tests have to be skipped. */
export const hasNoRedis: boolean = await isMissing(redisMissing());

/** A server, and connections to it. */
export interface Server {
  readonly port: number;
  readonly admin: Redis;
  stop(): Promise<void>;
}

/** Starts a server with an administrator's connection. @param settings further arguments of the server. */
export async function startServer(settings: readonly string[] = []): Promise<Server> {
  const daemon = await startRedis(settings);
  const admin = new Redis(daemon.port, "127.0.0.1");
  admin.on("error", () => undefined);
  return {
    port: daemon.port,
    admin,
    async stop() {
      admin.disconnect();
      await daemon.stop();
    },
  };
}

/** The clients of an application by each library. */
export const CLIENTS: Readonly<Record<"ioredis" | "redis", (port: number) => object>> = {
  ioredis: (port) => new Redis(port, "127.0.0.1", { lazyConnect: true }),
  redis: (port) => createClient({ url: `redis://127.0.0.1:${port}` }),
};
export const LIBRARIES = Object.keys(CLIENTS) as ReadonlyArray<keyof typeof CLIENTS>;

/** Tests on one server, each with a prefix of its own. The stores are closed after the test. */
export const test = base
  .extend("server", { scope: "file" }, async ({}, { onCleanup }) => {
    const server = await startServer();
    onCleanup(() => server.stop());
    return server;
  })
  .extend("prefix", ({ task }) => `${task.id}:`)
  .extend("open", ({ server, prefix }, { onCleanup }) => {
    const stores: RedisLeaseStore[] = [];
    onCleanup(async () => void (await Promise.all(stores.map((store) => store.close()))));
    return (library: keyof typeof CLIENTS = "ioredis", port = server.port): RedisLeaseStore => {
      const store = new RedisLeaseStore({ client: CLIENTS[library](port), prefix });
      stores.push(store);
      return store;
    };
  });
