export { DynamoDBLeaseStore } from "./dynamodb-lease-store.ts";
export type { DynamoDBOccurrenceStore } from "./dynamodb-occurrence-store.ts";
export type { DynamoDBFence } from "./fence.ts";
export type { DynamoDBLeaseStoreOptions } from "./options.ts";
export { fromUrl } from "./from-url.ts";
