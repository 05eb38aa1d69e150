const DAY_MS = 86_400_000;

/**
 * When an occurrence was due, in ISO 8601: lately, since none is done of which it may be forgotten whether it is done already.
 * The same in every process of a test, but at midnight.
 */
export const DUE: string = isoOf(Math.floor(Date.now() / DAY_MS) * DAY_MS);
export const DUE_BEFORE: string = isoOf(Date.parse(DUE) - DAY_MS);

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
