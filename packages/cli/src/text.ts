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

/** The most characters of a text in a table; one that is longer would pad every line. */
const MOST_CHARACTERS = 60;

/** Returns a text as a table shows it. */
export function clipped(text: string): string {
  const characters = [...text];
  return characters.length <= MOST_CHARACTERS ? text : `${characters.slice(0, MOST_CHARACTERS - 1).join("")}…`;
}

/** The passwords that this process knows, since it was given URLs with them. */
const known = new Set<string>();

/** Keeps a password out of whatever {@link withoutPasswords} is asked about from now on. One of less than four characters is no secret. */
export function keepSecret(password: string): void {
  if (password.length >= 4) known.add(password);
}

/**
 * Returns the text without the passwords that are known, and without what looks like a user and a password in a URL. A password that
 * was not encoded may have any character in it, white space too.
 */
export function withoutPasswords(text: string): string {
  const unknown = text.replace(/(:\/\/)(?:\S*|[^/?#\s:@]*:[^/?#\n]*\S)@/g, "$1…@");
  // One may be a part of another.
  const longestFirst = [...known].toSorted((one, other) => other.length - one.length);
  return longestFirst.reduce((rest, password) => rest.replaceAll(password, "…"), unknown);
}
