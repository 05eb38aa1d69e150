export { BlobDistributedMutex, type BlobMutexSettings, type MutexTask } from "./blob-distributed-mutex.ts";
export { BlobLeaseStore } from "./blob-lease-store.ts";
export type { BlobLeaseStoreOptions } from "./options.ts";
export { fromUrl } from "./from-url.ts";
