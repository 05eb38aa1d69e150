/** The copies that the drivers make of a client. */
import { ConfigurationError } from "@leasehold/core";
import { RedisLeaseStore } from "@leasehold/redis";
import { Cluster } from "ioredis";
import { createSentinel } from "redis";
import { expect, test } from "vitest";
import { driverOf } from "../src/drivers/open-driver.ts";

test("the connections to a cluster have the password and the TLS of the user's client", () => {
  const redisOptions = { password: "lamplight", tls: { servername: "cache.internal" }, keyPrefix: "mine:" };
  const cluster = new Cluster([], { lazyConnect: true, redisOptions });
  let copied: object = {};
  // ioredis 5 and iovalkey replace `redisOptions`, where ioredis 6 merges them.
  const duplicate = (_: unknown, override: object): object => {
    copied = { ...cluster.options, ...override };
    return { on: () => undefined, connect: () => Promise.resolve() };
  };
  driverOf(Object.assign(cluster, { duplicate })).open({ ended: () => undefined, message: () => undefined });
  expect(copied).toMatchObject({ redisOptions: { ...redisOptions, keyPrefix: "", enableOfflineQueue: false } });
});

test("a sentinel of redis is refused by its name", () => {
  const client = createSentinel({ name: "primary", sentinelRootNodes: [{ host: "127.0.0.1", port: 26_379 }] });
  expect(() => new RedisLeaseStore({ client })).toThrow(ConfigurationError);
  expect(() => new RedisLeaseStore({ client })).toThrow("createSentinel()");
});
