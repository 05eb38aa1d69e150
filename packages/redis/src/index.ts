export { RedisLeaseStore } from "./redis-lease-store.ts";
export type { RedisOccurrenceStore } from "./redis-occurrence-store.ts";
export type { RedisFenceScript } from "./fence.ts";
export type { RedisLeaseStoreOptions } from "./options.ts";
export { fromUrl } from "./from-url.ts";
