/** Returns the text as one line. */
export function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, " ");
}

/**
 * Returns somebody else's text as it can be printed: what would move the cursor, end the line or turn the direction of
 * writing stands there by its number, as `\u{1b}`.
 */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Returns the text with what may be a user and a password left out of its URLs. */
export function withoutPasswords(text: string): string {
  return text.replace(/(:\/\/)\S*@/g, "$1…@");
}
