import { ConfigurationError } from "@leasehold/core";
import { checkOptions, type RecordLeaseStoreOptions } from "@leasehold/core/provider";
import { checkRedisUrl, driverOf, driverOfUrl } from "./drivers/open-driver.ts";
import type { RedisDriver } from "./drivers/driver.ts";
import { checkPrefix, DEFAULT_PREFIX } from "./keys.ts";

/** The options of `RedisLeaseStore`. Give exactly one of `client` and `url`. */
export interface RedisLeaseStoreOptions extends RecordLeaseStoreOptions {
  /**
   * Your client: a `Redis` or `Cluster` of ioredis or iovalkey, or a client or cluster of `redis`. The store does not use its
   * connection. It opens two of its own with the client's settings, on which nothing waits and nothing is sent again.
   *
   * Or a client of Valkey GLIDE or of Upstash, which the store uses itself. Then standbys poll.
   */
  readonly client?: unknown;
  /** A URL: `redis://user:password@host:6379/0`, or `rediss://` for TLS. Needs the package ioredis or redis. */
  readonly url?: string | undefined;
  /** The beginning of every key and channel, without braces. @defaultValue `leasehold:` */
  readonly prefix?: string | undefined;
}

/** The names of all options. */
const OPTIONS: Readonly<Record<keyof RedisLeaseStoreOptions, true>> = { client: true, url: true, prefix: true, clock: true };

/** The options after their check. */
export interface CheckedOptions {
  readonly driver: () => Promise<RedisDriver>;
  readonly prefix: string;
  /** True if the client library has connections that listen. */
  readonly pushes: boolean;
}

/** @throws {ConfigurationError} for options that cannot work. */
export function checkedOptions(options: RedisLeaseStoreOptions): CheckedOptions {
  checkOptions("RedisLeaseStore", options, OPTIONS);
  const { client, url, prefix = DEFAULT_PREFIX } = options;
  checkPrefix(prefix);
  if ((client === undefined) === (url === undefined)) {
    throw new ConfigurationError(
      `RedisLeaseStore needs exactly one of client and url; it was given ${client === undefined ? "neither" : "both"}.`,
    );
  }
  if (url === undefined) {
    const driver = driverOf(client);
    return { driver: () => Promise.resolve(driver), prefix, pushes: driver.pushes ?? true };
  }
  checkRedisUrl(url);
  return { driver: async () => await driverOfUrl(url), prefix, pushes: true };
}
