import { ConfigurationError } from "./errors.ts";

/** The longest election name and candidateId, in bytes of UTF-8; every store can hold that much. */
export const MAX_NAME_BYTES: number = 255;

/**
 * Checks the name of an election or a candidate: 1 to 255 bytes of UTF-8, no control characters, no lone surrogates.
 * Names are compared by code point, never normalized.
 * @throws {ConfigurationError} saying what is wrong with it.
 */
export function checkName(what: "election" | "candidateId", name: unknown): asserts name is string {
  if (typeof name !== "string") throw new ConfigurationError(`${what} must be a string, not ${describe(name)}.`);
  if (name === "") throw new ConfigurationError(`${what} is empty; give it 1 to ${MAX_NAME_BYTES} bytes.`);
  checkText(what, name, MAX_NAME_BYTES);
  const control = /\p{Cc}/u.exec(name);
  if (control) {
    throw new ConfigurationError(
      `${what} has the control character U+${hex(control[0])} at index ${control.index}; use printable characters only.`,
    );
  }
}

/**
 * Checks a value that a leader publishes: any text without lone surrogates, at most `maxBytes` of UTF-8.
 * @throws {ConfigurationError} saying what is wrong with it.
 */
export function checkValue(value: unknown, maxBytes: number): asserts value is string {
  if (typeof value !== "string") throw new ConfigurationError(`value must be a string, not ${describe(value)}.`);
  checkText("value", value, maxBytes);
}

/** The number of bytes of `text` in UTF-8. */
export function utf8Bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

function checkText(what: string, text: string, maxBytes: number): void {
  if (!text.isWellFormed()) {
    throw new ConfigurationError(`${what} has a lone surrogate, which no store can hold; it must be well-formed Unicode.`);
  }
  const bytes = utf8Bytes(text);
  if (bytes > maxBytes) throw new ConfigurationError(`${what} has ${bytes} bytes of UTF-8; at most ${maxBytes} fit.`);
}

function describe(value: unknown): string {
  return value === null ? "null" : typeof value;
}

function hex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}
