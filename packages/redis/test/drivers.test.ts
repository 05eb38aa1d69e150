/** The copies that the drivers make of a client. */
import { ConfigurationError } from "@leasehold/core";
import { RedisLeaseStore } from "@leasehold/redis";
import { Cluster } from "ioredis";
import { createSentinel } from "redis";
import { expect, test } from "vitest";
import { driverOf } from "../src/drivers/open-driver.ts";

/** A cluster of ioredis 5 or iovalkey. Its `duplicate` replaces `redisOptions` instead of merging them. */
class OlderCluster extends Cluster {
  copy: Cluster | undefined;

  override duplicate(_: unknown, override: object): Cluster {
    const options = { ...this.options, ...override, lazyConnect: true };
    this.copy = Object.assign(new Cluster([], options), { connect: async () => await Promise.resolve() });
    return this.copy;
  }
}

test("the connections to a cluster have the password and the TLS of the user's client", () => {
  const redisOptions = { password: "lamplight", tls: { servername: "cache.internal" }, keyPrefix: "mine:" };
  const client = new OlderCluster([], { lazyConnect: true, redisOptions });
  driverOf(client).open({ ended: () => undefined, message: () => undefined });
  expect(client.copy?.options.redisOptions).toMatchObject({ ...redisOptions, keyPrefix: "", enableOfflineQueue: false });
});

test("a sentinel of redis is refused by its name", () => {
  const client = createSentinel({ name: "primary", sentinelRootNodes: [{ host: "127.0.0.1", port: 26_379 }] });
  expect(() => new RedisLeaseStore({ client })).toThrow(ConfigurationError);
  expect(() => new RedisLeaseStore({ client })).toThrow("createSentinel()");
});
