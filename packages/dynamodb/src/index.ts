export { DynamoDBLeaseStore, type DynamoDBFence, type DynamoDBLeaseStoreOptions } from "./dynamodb-lease-store.ts";
