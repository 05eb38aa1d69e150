/** The database of the payments, which all processes of this machine share. */
export const file: string = process.env["PAYMENTS_FILE"] ?? "payments.db";

/** The time for which others wait after the last sign of life of a leader. */
export const leaseDurationMs = Number(process.env["LEASE_DURATION_MS"] ?? 5_000);

/** The payment before which this process freezes itself, if there is one. */
export const freezeAt = Number(process.env["FREEZE_AT"]);
