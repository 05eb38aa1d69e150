export { BlobDistributedMutex, type BlobMutexSettings, type MutexTask } from "./blob-distributed-mutex.ts";
export { BlobLeaseStore } from "./blob-lease-store.ts";
export type { FencedUploadOptions, FenceOptions } from "./fence.ts";
export type { BlobLeaseStoreOptions, TokenCredential } from "./options.ts";
