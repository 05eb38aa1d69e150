import { ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { RedisLeaseStore } from "@leasehold/redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { describe, expect } from "vitest";
import { serverWarnings } from "../src/server-check.ts";
import { CLIENTS, hasNoRedis, LIBRARIES, startServer, test as base } from "./redis-test.ts";

const test = base.extend("own", async ({}, { onCleanup }) => {
  const server = await startServer();
  onCleanup(() => server.stop());
  return server;
});

describe.skipIf(hasNoRedis)("check()", () => {
  test.for(LIBRARIES)("by %s names the settings by which the server may lose leases", async (library, { own }) => {
    await using store = new RedisLeaseStore({ client: CLIENTS[library](own.port) });
    const { warnings } = await store.check({ election: ELECTION });
    expect(warnings).toEqual([expect.stringContaining("appendonly is no")]);

    await own.admin.config("SET", "appendonly", "yes");
    await own.admin.config("SET", "maxmemory", "100mb");
    await own.admin.config("SET", "maxmemory-policy", "volatile-lru");
    expect((await store.check({ election: ELECTION })).warnings).toEqual([
      expect.stringContaining("an occurrence"),
      expect.stringContaining("appendfsync is everysec"),
    ]);

    await own.admin.config("SET", "appendfsync", "always");
    await own.admin.config("SET", "maxmemory-policy", "noeviction");
    expect((await store.check({ election: ELECTION })).warnings).toEqual([]);

    await own.admin.config("SET", "maxmemory-policy", "allkeys-lru");
    expect(await failureOf(store.check({ election: ELECTION }))).toMatchObject({
      code: "STORE_REJECTED",
      message: expect.stringContaining("may evict a lease"),
    });
  });

  test("of an elector does not reject for the settings, which the inspection names", async ({ own }) => {
    await own.admin.config("SET", "maxmemory", "100mb");
    await own.admin.config("SET", "maxmemory-policy", "allkeys-lru");
    await using store = new RedisLeaseStore({ client: CLIENTS.ioredis(own.port) });
    await expect(store.check({ election: ELECTION, settings: false })).resolves.not.toHaveProperty("warnings");
    expect((await store.inspect({ election: ELECTION }))[0]).toContain("may evict a lease while it is held");
  });

  test.for(LIBRARIES)("by %s warns of an account that may not read INFO", async (library, { own }) => {
    await own.admin.acl("SETUSER", "blind", "on", ">lamplight", "~leasehold:*", "&leasehold:*", "+@all", "-info");
    const url = `redis://blind:lamplight@127.0.0.1:${own.port}`;
    const client = library === "redis" ? createClient({ url }) : new Redis(url, { lazyConnect: true, enableReadyCheck: false });
    await using store = new RedisLeaseStore({ client });
    const { warnings } = await store.check({ election: ELECTION });
    expect(warnings).toContainEqual(expect.stringContaining("INFO is not allowed"));
  });

  test("leaves no trace, with a record and without one", async ({ own }) => {
    await using store = new RedisLeaseStore({ client: CLIENTS.ioredis(own.port) });
    await store.check({ election: ELECTION });
    await expect(own.admin.keys("*")).resolves.toEqual([]);
    await win(store);
    const key = `leasehold:{${ELECTION}}`;
    const before = await own.admin.hgetall(key);
    await store.check({ election: ELECTION });
    await expect(own.admin.hgetall(key)).resolves.toEqual(before);
  });

  test("returns the term that the fence remembers, for a record that was restored", async ({ own }) => {
    await using store = new RedisLeaseStore({ client: CLIENTS.ioredis(own.port) });
    expect((await store.check({ election: ELECTION })).fenceTerm).toBe(undefined);
    await store.release(await win(store), LIMITS);
    const former = await own.admin.dumpBuffer(`leasehold:{${ELECTION}}`);
    await win(store);
    await own.admin.restore(`leasehold:{${ELECTION}}`, 0, former, "REPLACE");
    expect((await store.check({ election: ELECTION })).fenceTerm).toBe(2);
    await expect(store.read(ELECTION)).resolves.toMatchObject({ term: 1 });
  });

  test("finds an account that may read and not write, and one that may not use the keys", async ({ own }) => {
    await own.admin.acl("SETUSER", "reader", "on", ">lamplight", "~leasehold:*", "&leasehold:*", "+@all", "-@write");
    await own.admin.acl("SETUSER", "stranger", "on", ">lamplight", "~other:*", "+@all");
    for (const user of ["reader", "stranger"]) {
      await using store = new RedisLeaseStore({ url: `redis://${user}:lamplight@127.0.0.1:${own.port}` });
      expect(await failureOf(store.check({ election: ELECTION }))).toMatchObject({
        code: "STORE_DENIED",
        message: expect.stringContaining("Candidates need EVALSHA"),
      });
    }
  });

  test("an account that may not let keys expire writes nothing", async ({ own }) => {
    await own.admin.acl("SETUSER", "keeper", "on", ">lamplight", "~leasehold:*", "&leasehold:*", "+@all", "-pexpire");
    await using store = new RedisLeaseStore({ url: `redis://keeper:lamplight@127.0.0.1:${own.port}` });
    const occurrences = store.occurrences(ELECTION, { retentionMs: 60_000 });
    for (const call of [() => store.check({ election: ELECTION }), () => win(occurrences, { election: "2026-11-27" })]) {
      expect(await failureOf(call())).toMatchObject({ code: "STORE_DENIED", mayHaveBeenApplied: false });
    }
    await expect(own.admin.keys("*")).resolves.toEqual([]);
  });

  test("is content with the rights that the README lists", async ({ own }) => {
    const commands = ["evalsha", "eval", "time", "info", "hmget", "hget", "exists", "hset", "pexpire", "publish"];
    const rights = [...commands, "scan", "subscribe", "unsubscribe", "hello"].map((command) => `+${command}`);
    await own.admin.acl("SETUSER", "worker", "on", ">lamplight", "~leasehold:*", "&leasehold:*", "-@all", ...rights);
    await using store = new RedisLeaseStore({ url: `redis://worker:lamplight@127.0.0.1:${own.port}` });
    const { warnings = [] } = await store.check({ election: ELECTION });
    expect(warnings.at(-1)).toContain("CONFIG GET is not allowed");
    const lease = await win(store);
    await store.release(lease, LIMITS);
    await expect(Array.fromAsync(store.list())).resolves.toMatchObject([{ election: ELECTION, state: "vacant" }]);
  });

  test("a full server refuses a renewal, with the reason and nothing written", async ({ own }) => {
    await using store = new RedisLeaseStore({ client: CLIENTS.ioredis(own.port) });
    const lease = await win(store);
    await own.admin.config("SET", "maxmemory", "1");
    expect(await failureOf(store.renew(lease, LIMITS))).toMatchObject({
      code: "STORE_UNAVAILABLE",
      mayHaveBeenApplied: false,
      message: expect.stringContaining("The server is full"),
    });
    await own.admin.config("SET", "maxmemory", "0");
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("a server that wants replicas and has none refuses a renewal", async ({ own }) => {
    await using store = new RedisLeaseStore({ client: CLIENTS.redis(own.port) });
    const lease = await win(store);
    await own.admin.config("SET", "min-replicas-to-write", "1");
    expect(await failureOf(store.renew(lease, LIMITS))).toMatchObject({
      code: "STORE_UNAVAILABLE",
      mayHaveBeenApplied: false,
      message: expect.stringContaining("min-replicas-to-write"),
    });
  });
});

describe.skipIf(hasNoRedis)("serverWarnings", () => {
  const facts = (info: Record<string, string>, settings?: Record<string, string>) => ({
    info: new Map(Object.entries({ aof_enabled: "1", ...info })),
    settings: settings && new Map(Object.entries({ appendfsync: "always", "maxmemory-policy": "noeviction", ...settings })),
  });

  base("of a server with replicas say what a failover loses, and how to lose less", () => {
    const warnings = serverWarnings(facts({ connected_slaves: "2" }, { "min-replicas-to-write": "0" }));
    expect(warnings).toEqual([
      expect.stringContaining("a failover may undo"),
      expect.stringContaining("min-replicas-to-write is 0"),
    ]);
    expect(serverWarnings(facts({ connected_slaves: "2" }, { "min-replicas-to-write": "1" }))).toHaveLength(1);
  });

  base("of a policy that evicts are warnings while the memory has no bound", () => {
    expect(serverWarnings(facts({ maxmemory: "0" }, { "maxmemory-policy": "allkeys-lru" }))).toEqual([
      expect.stringContaining("once maxmemory is set"),
    ]);
  });
});
