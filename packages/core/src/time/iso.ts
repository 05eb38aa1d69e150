/** Returns an instant in ISO 8601. */
export function isoOf(ms: number): string {
  // oxlint-disable-next-line eslint/no-restricted-globals -- writes a text, and reads no clock
  return new Date(ms).toISOString();
}
