export { ObjectStorageLeaseStore } from "./object-storage-lease-store.ts";
export type { ObjectStorageLeaseStoreOptions } from "./options.ts";
export type { FencedPutOptions, FenceOptions } from "./fence.ts";
export { fromUrl } from "./from-url.ts";
