import { ConfigurationError, FencedError, UnsupportedError } from "@leasehold/core";
import { ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { Cluster, Redis } from "ioredis";
import { createClient } from "redis";
import { describe, expect } from "vitest";
import { hasNoRedis, test } from "./redis-test.ts";

const GUARDED = "return redis.call('RPUSH', KEYS[1], ARGV[1])";

describe.skipIf(hasNoRedis)("fenceScript", () => {
  test("lets a script pass while the leadership lasts, and refuses it before its first command after that", async ({
    server: { admin },
    open,
    prefix,
  }) => {
    const store = open();
    const first = await win(store);
    const fence = store.fenceScript(first);
    const list = `${prefix}list`;
    const push = async (text: string): Promise<unknown> =>
      await admin.eval(`${fence.guard}\n${GUARDED}`, 2, list, fence.key, text, fence.value);
    await push("a");
    await store.renew(first, LIMITS);
    await push("b");

    await store.release(first, LIMITS);
    await expect(push("c")).rejects.toThrow("LEASEHOLD_FENCED by term 1");
    await win(store);
    await expect(push("d")).rejects.toThrow("LEASEHOLD_FENCED by term 2");
    await admin.del(fence.key);
    await expect(push("e")).rejects.toThrow("LEASEHOLD_FENCED by term none");
    await expect(admin.lrange(list, 0, -1)).resolves.toEqual(["a", "b"]);
  });

  test("refuses a broken term at once", async ({ server: { admin }, open }) => {
    const store = open();
    const fence = store.fenceScript(await win(store));
    await store.break(ELECTION, { reason: "stuck" });
    await expect(admin.eval(fence.guard, 1, fence.key, fence.value)).rejects.toThrow("LEASEHOLD_FENCED");
  });

  test("of an occurrence passes until it is done", async ({ server: { admin }, open }) => {
    const occurrences = open().occurrences(ELECTION, { retentionMs: 60_000 });
    const claim = await win(occurrences, { election: "2026-11-27" });
    const fence = occurrences.fenceScript(claim);
    await expect(admin.eval(`${fence.guard} return 7`, 1, fence.key, fence.value)).resolves.toBe(7);
    await occurrences.complete(claim, LIMITS);
    await expect(admin.eval(`${fence.guard} return 7`, 1, fence.key, fence.value)).rejects.toThrow("LEASEHOLD_FENCED");
    expect(await admin.pttl(fence.key)).toBeGreaterThan(0);
  });
});

describe.skipIf(hasNoRedis)("fence", () => {
  test("lets EXEC of ioredis pass across renewals, and do nothing after a break", async ({ server, open, prefix }) => {
    const store = open();
    const lease = await win(store);
    const connection = new Redis(server.port, "127.0.0.1", { retryStrategy: null });
    await store.fence(lease, connection);
    await store.renew(lease, LIMITS);
    await expect(connection.multi().set(`${prefix}x`, "1").exec()).resolves.toEqual([[null, "OK"]]);

    await store.fence(lease, connection);
    await store.break(ELECTION, { reason: "stuck" });
    await expect(connection.multi().set(`${prefix}x`, "2").exec()).resolves.toBeNull();
    await expect(store.fence(lease, connection)).rejects.toThrow(FencedError);
    await expect(server.admin.get(`${prefix}x`)).resolves.toBe("1");
    connection.disconnect();
  });

  test("lets EXEC of redis pass across renewals, and fail after a release", async ({ server, open, prefix }) => {
    const store = open("redis");
    const lease = await win(store);
    const connection = await createClient({
      url: `redis://127.0.0.1:${server.port}`,
      socket: { reconnectStrategy: false },
    }).connect();
    await store.fence(lease, connection);
    await store.renew(lease, LIMITS);
    await expect(connection.multi().set(`${prefix}x`, "1").exec()).resolves.toEqual(["OK"]);

    await store.fence(lease, connection);
    await store.release(lease, LIMITS);
    await expect(connection.multi().set(`${prefix}x`, "2").exec()).rejects.toThrow("watched keys");
    await expect(store.fence(lease, connection)).rejects.toMatchObject({ code: "FENCED", currentTerm: 1 });
    connection.destroy();
  });

  test("refuses a connection on which the watch could be lost without a word", async ({ server, open }) => {
    const store = open();
    const lease = await win(store);
    const options = { lazyConnect: true, retryStrategy: null };
    const reconnecting = new Redis(server.port, "127.0.0.1", { lazyConnect: true });
    expect((await failureOf(store.fence(lease, reconnecting))).message).toContain("does not reconnect");
    for (const client of [createClient(), createClient({ socket: { reconnectStrategy: () => 10 } })]) {
      expect((await failureOf(store.fence(lease, client))).message).toContain("reconnectStrategy: false");
    }
    const prefixed = new Redis(server.port, "127.0.0.1", { ...options, keyPrefix: "mine:" });
    expect((await failureOf(store.fence(lease, prefixed))).message).toContain("keyPrefix");
    await expect(store.fence(lease, new Cluster([], { lazyConnect: true }))).rejects.toThrow(UnsupportedError);
    await expect(store.fence(lease, {})).rejects.toThrow(ConfigurationError);
  });
});
