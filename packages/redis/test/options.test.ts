import { ConfigurationError } from "@leasehold/core";
import type { StoreUrl } from "@leasehold/core/provider";
import { fromUrl, RedisLeaseStore, type RedisLeaseStoreOptions } from "@leasehold/redis";
import { Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { expect, test } from "vitest";

const client = new Redis({ lazyConnect: true });

test("takes a client of ioredis or redis, a cluster of either, or a URL", () => {
  const clients = [
    client,
    new Redis.Cluster([{ host: "127.0.0.1" }], { lazyConnect: true }),
    createClient(),
    createCluster({ rootNodes: [] }),
  ];
  for (const one of clients) expect(new RedisLeaseStore({ client: one }).name).toBe("redis");
  for (const url of ["redis://127.0.0.1", "rediss://user:p%40ss@cache.example:6380/2", "redis://[::1]:6379"]) {
    expect(new RedisLeaseStore({ url }).name).toBe("redis");
  }
});

test.each<[problem: string, options: unknown, says: string]>([
  ["neither a client nor a URL", {}, "it was given neither"],
  ["both", { client, url: "redis://127.0.0.1" }, "it was given both"],
  ["a client of another library", { client: { get: () => undefined } }, "client is no client that the store knows"],
  ["a host", { url: "127.0.0.1:6379" }, "url cannot be read"],
  ["another scheme", { url: "http://127.0.0.1:6379" }, "url cannot be read"],
  ["a password with a slash", { url: "redis://user:lamp/light@127.0.0.1" }, "url cannot be read"],
  ["a database that is no number", { url: "redis://127.0.0.1/leases" }, "url cannot be read"],
  ["a prefix that is no text", { client, prefix: 7 }, "prefix is 7; it must be a text"],
  ["a prefix with half a character", { client, prefix: "\ud83d" }, "it must be a text"],
  ["a prefix with a brace", { client, prefix: "a{b" }, "without braces"],
  ["an unknown option", { client, keyPrefix: "a" }, "keyPrefix"],
])("refuses %s", (_, options, says) => {
  expect(() => new RedisLeaseStore(options as RedisLeaseStoreOptions)).toThrow(ConfigurationError);
  expect(() => new RedisLeaseStore(options as RedisLeaseStoreOptions)).toThrow(says);
});

test.each([
  ["redis", "host:6379", "", true],
  ["rediss", "user@host", "12", true],
  ["redis", "", "", false],
  ["redis", "a,b", "", false],
  ["rediss", "host", "leases", false],
])("%s://%s/%s names one host and a database: %s", (scheme, authority, path, isFine) => {
  const check = (): void => fromUrl[scheme]!.check?.({ scheme, authority, path } as StoreUrl);
  if (isFine) expect(check).not.toThrow();
  else
    expect(check).toThrow(`a URL of ${scheme}: names one host, and the number of a database or none: ${scheme}://HOST:6379/0.`);
});

test("no error shows the password of a URL", () => {
  expect(() => new RedisLeaseStore({ url: "redis://user:lamp/light@127.0.0.1" })).not.toThrow(/lamp|light/);
});

test("says what a failover loses", () => {
  expect(new RedisLeaseStore({ client }).capabilities).toMatchObject({
    watch: "push",
    fence: "atomic",
    showsUndurable: true,
    losesAcknowledged: true,
    roundTrips: 3,
    storeClock: { mayStep: true },
  });
});

test("a closed store refuses every call", async () => {
  const store = new RedisLeaseStore({ client });
  await store.close();
  await expect(store.read("e")).rejects.toThrow("was closed");
  await store.close();
});
