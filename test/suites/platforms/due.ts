const DAY_MS = 86_400_000;

/**
 * The time at which an occurrence was due, in ISO 8601. It is recent, because an occurrence whose record may be deleted is
 * refused. It is the same in every process of a test, except at midnight.
 */
export const DUE: string = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS).toISOString();
