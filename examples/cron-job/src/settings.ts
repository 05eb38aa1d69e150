const { env } = process;

/** Every ten seconds, so that there is something to see. */
export const pattern: string = env["SCHEDULE"] ?? "*/10 * * * * *";

/** What all hosts share. Here it is a file, for the processes of one machine; for many, one of the other stores. */
export const file: string = env["SQLITE_FILE"] ?? "report.db";

/** For how long the others leave a report to a host that has begun it and gives no sign of life any more. */
export const leaseDurationMs = Number(env["LEASE_DURATION_MS"] ?? 5_000);
