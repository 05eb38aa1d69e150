/** The database of the payments, which all processes of this machine share. */
export const file: string = process.env["PAYMENTS_FILE"] ?? "payments.db";

/** For how long the others wait after the last sign of life of a leader. */
export const leaseDurationMs = Number(process.env["LEASE_DURATION_MS"] ?? 5_000);

/** The payment before which this process is to freeze itself, if there is one. */
export const freezeAt = Number(process.env["FREEZE_AT"]);
