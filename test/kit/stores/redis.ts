import type { Leadership } from "@leasehold/core";
import { RedisLeaseStore } from "@leasehold/redis";
import { Redis } from "ioredis";
import { redisMissing, startRedis } from "../backends/redis.ts";
import type { GuardedDocument, TestStore } from "./test-store.ts";

/** Redis, on a server of its own that keeps its data in memory. */
export const redis: TestStore = {
  title: "Redis",
  leaseDurationMs: 2_000,

  missing: () => redisMissing(),

  async start() {
    const server = await startRedis();
    const url = `redis://127.0.0.1:${server.port}`;
    return {
      settings: { store: "redis", url },
      place: `a server of its own, ${url}`,
      pause: () => server.pause(),
      resume: () => server.resume(),
      [Symbol.asyncDispose]: () => server.stop(),
    };
  },

  open({ url = "", prefix = "leasehold:" }) {
    const client = new Redis(url, { lazyConnect: true });
    client.on("error", () => undefined);
    const store = new RedisLeaseStore({ client, prefix });
    return Promise.resolve({
      store,
      document: (name) => documentAt(client, store, `${prefix}document:${name}`),
      isRefusal: (error) => error instanceof Error && error.message.includes("LEASEHOLD_FENCED"),
      close: async () => {
        client.disconnect();
        await store.close();
      },
    });
  },
};

function documentAt(client: Redis, store: RedisLeaseStore, key: string): GuardedDocument {
  const read = async (): Promise<string> => (await client.get(key)) ?? "";
  const write = async (leadership: Leadership, content: string): Promise<void> => {
    const fence = store.fenceScript(leadership);
    await client.eval(`${fence.guard} return redis.call('SET', KEYS[1], ARGV[1])`, 2, key, fence.key, content, fence.value);
  };
  return {
    read,
    // While the fence holds only this leader can write, and it makes one write at a time.
    update: async (leadership, change) => write(leadership, change(await read())),
    write,
  };
}
