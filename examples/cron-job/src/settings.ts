const { env } = process;

/** Every ten seconds, so that you see several reports. */
export const pattern: string = env["SCHEDULE"] ?? "*/10 * * * * *";

/** The store that all hosts share. Here it is a file, for the processes of one machine. For many machines use another store. */
export const file: string = env["SQLITE_FILE"] ?? "report.db";

/** The time for which others leave a report to a host that has begun it and no longer responds. */
export const leaseDurationMs = Number(env["LEASE_DURATION_MS"] ?? 5_000);
