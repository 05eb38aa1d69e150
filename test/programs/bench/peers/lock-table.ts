/** The table of dynamodb-lock-client, which its user creates. */
export const LOCK_TABLE = "locks";
export const LOCK_KEY = "id";
