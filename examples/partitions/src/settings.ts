const { DATABASE_URL, LEASE_DURATION_MS } = process.env;

/** The database of the orders and of the fleet. One transaction has to cover both. */
export function databaseUrl(): string {
  if (!DATABASE_URL) throw new Error("Set DATABASE_URL, for instance postgres://app@localhost/app");
  return DATABASE_URL;
}

/** The time for which the shards of a process that has died wait. */
export const leaseDurationMs = Number(LEASE_DURATION_MS ?? 30_000);
