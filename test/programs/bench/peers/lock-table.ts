/** dynamodb-lock-client's table, which its user makes. */
export const LOCK_TABLE = "locks";
export const LOCK_KEY = "id";
