import { inCommandWords } from "./command-words.ts";
import type { ProcessEnvironment } from "./verb.ts";

/** Joins the lines of a text into one. */
export function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, " ");
}

/**
 * Makes a text from elsewhere safe to print. Replaces control and format characters by their numbers, such as `\u{1b}`. They
 * could move the cursor, end the line or turn the direction of writing.
 */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** The most characters of a text in a table. A longer text would widen its column in every line. */
const MOST_CHARACTERS = 60;

/** Shortens a text for a table. */
export function clipped(text: string): string {
  const characters = [...text];
  return characters.length <= MOST_CHARACTERS ? text : `${characters.slice(0, MOST_CHARACTERS - 1).join("")}…`;
}

/** The passwords of all URLs that this process has parsed. */
const known = new Set<string>();

/** Makes {@link withoutPasswords} remove a password from now on. A password of fewer than four characters is not removed. */
export function keepSecret(password: string): void {
  if (password.length >= 4) known.add(password);
}

/**
 * Removes the known passwords from a text, and everything that looks like a user and a password in a URL. A password that was not
 * percent-encoded may have any character in it, even white space.
 */
export function withoutPasswords(text: string): string {
  const unknown = text.replace(/(:\/\/)(?:\S*|[^/?#\s:@]*:[^/?#\n]*\S)@/g, "$1…@");
  // The longest one goes first, because one password may be a part of another.
  const longestFirst = [...known].toSorted((one, other) => other.length - one.length);
  return longestFirst.reduce((rest, password) => rest.replaceAll(password, "…"), unknown);
}

/** Returns a function that prints a line to stderr, with the command's name before it. */
export function teller({ stderr }: Pick<ProcessEnvironment, "stderr">): (text: string) => void {
  return (text) => stderr.write(`leasehold: ${messageText(text)}\n`);
}

/** Makes a message safe for a terminal: one line, without passwords and control characters, in the words of this command. */
export function messageText(text: string): string {
  return printable(inCommandWords(withoutPasswords(oneLine(text))));
}
