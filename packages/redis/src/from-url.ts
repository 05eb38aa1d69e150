import { ConfigurationError } from "@leasehold/core";
import type { OpenedStore, StoreSchemes, StoreUrl } from "@leasehold/core/provider";
import { RedisLeaseStore } from "./redis-lease-store.ts";

/**
 * Opens a {@link RedisLeaseStore} by a URL such as `redis://user@HOST:6379/0?prefix=team:`, or `rediss:` for TLS. The path is the
 * number of the database.
 */
export const fromUrl: StoreSchemes = {
  redis: { parameters: ["prefix"], check, open },
  rediss: { parameters: ["prefix"], check, open },
};

function check({ scheme, authority, path }: StoreUrl): void {
  if (authority !== "" && !authority.includes(",") && /^\d*$/.test(path)) return;
  throw new ConfigurationError(
    `a URL of ${scheme}: names one host, and the number of a database or none: ${scheme}://HOST:6379/0.`,
  );
}

async function open({ text, parameters }: StoreUrl): Promise<OpenedStore> {
  const [url] = text.split("?", 1);
  return await Promise.resolve(new RedisLeaseStore({ url, prefix: parameters.get("prefix") }));
}
