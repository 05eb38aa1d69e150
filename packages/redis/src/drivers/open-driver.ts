import { ConfigurationError } from "@leasehold/core";
import type { RedisDriver } from "./driver.ts";
import { ioRedisDriver, isIoRedis } from "./ioredis.ts";
import { lentClientDriver } from "./lent-client.ts";
import { isNodeRedis, isNodeSentinel, nodeRedisDriver } from "./node-redis.ts";

/** Returns the driver of the user's client. @throws {ConfigurationError} for any other object. */
export function driverOf(client: unknown): RedisDriver {
  if (typeof client === "object" && client !== null) {
    if (isNodeSentinel(client)) {
      throw new ConfigurationError(
        "client is a sentinel of redis, which the store cannot use: createSentinel() gives no connection of its own for each purpose. Give it a Redis of ioredis with `sentinels`, or a client of an address that follows the primary.",
      );
    }
    if (isIoRedis(client)) return ioRedisDriver(client);
    if (isNodeRedis(client)) return nodeRedisDriver(client);
    const lent = lentClientDriver(client);
    if (lent) return lent;
  }
  throw new ConfigurationError(
    "client is no client that the store knows. Give it one of ioredis, iovalkey, redis 5.9 or later, @valkey/valkey-glide or @upstash/redis, or a url.",
  );
}

/**
 * Returns the driver for a URL, by whichever client library is installed.
 * @throws {ConfigurationError} if neither is.
 */
export async function driverOfUrl(url: string): Promise<RedisDriver> {
  try {
    const { Redis } = await import("ioredis");
    return driverOf(new Redis(url, { lazyConnect: true }));
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  try {
    const { createClient } = await import("redis");
    return driverOf(createClient({ url }));
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    throw new ConfigurationError("url needs the package ioredis or redis: install one of them.", { cause });
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === "ERR_MODULE_NOT_FOUND";
}

/**
 * Checks a URL as far as that needs no client library. The path is the number of the database.
 * @throws {ConfigurationError} The message shows no part of the URL, because that may hold a password.
 */
export function checkRedisUrl(url: unknown): asserts url is string {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  const isEncoded = typeof url === "string" && !/%(?![0-9a-f]{2})/i.test(url);
  if (parsed && isEncoded && /^rediss?:$/.test(parsed.protocol) && parsed.hostname !== "" && /^\/?\d*$/.test(parsed.pathname)) {
    return;
  }
  throw new ConfigurationError(
    "url cannot be read. It looks like redis://user:password@host:6379/0, or rediss:// for TLS; percent-encode what is special in the user and the password: encodeURIComponent(password).",
  );
}
