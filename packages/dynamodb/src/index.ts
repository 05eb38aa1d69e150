export { DynamoDBLeaseStore, type DynamoDBLeaseStoreOptions } from "./dynamodb-lease-store.ts";
export type { DynamoDBOccurrenceStore } from "./dynamodb-occurrence-store.ts";
export type { DynamoDBFence } from "./fence.ts";
