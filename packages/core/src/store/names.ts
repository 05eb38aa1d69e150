import { ConfigurationError } from "../reporting/errors.ts";

/** The longest election name and candidateId, in bytes of UTF-8. Every store can hold that many, and compares by code point. */
export const MAX_NAME_BYTES: number = 255;

const MAX_REASON_BYTES = 500;

/** Checks a name: 1 to 255 bytes of UTF-8 without control characters and lone surrogates. @throws {ConfigurationError} */
export function checkName(
  what: "election" | "candidateId" | "group" | "name" | "prefix" | "occurrence" | "key" | "delivery",
  name: unknown,
): asserts name is string {
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
 * Returns a name in which all characters but letters, digits, `-` and `_` are percent-encoded as UTF-8. The result is never a
 * path, and differs for any two names. If one name begins with another, the same holds for their results.
 */
export function encodeName(name: string): string {
  return encodeURIComponent(name).replace(/[.!~*'()]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Returns the name whose {@link encodeName} is this text; `undefined` if there is none. */
export function decodeName(encoded: string): string | undefined {
  try {
    const name = decodeURIComponent(encoded);
    return encodeName(name) === encoded ? name : undefined;
  } catch {
    return undefined;
  }
}

/** @throws {ConfigurationError} unless it is a text without lone surrogates, of at most `maxBytes` of UTF-8. */
export function checkValue(value: unknown, maxBytes: number): asserts value is string {
  if (typeof value !== "string") throw new ConfigurationError(`value must be a string, not ${describe(value)}.`);
  checkText("value", value, maxBytes);
}

/** @throws {ConfigurationError} unless it is a whole number from 1, or `undefined`. */
export function checkTerm(what: string, term: number | undefined): void {
  if (term === undefined || (Number.isSafeInteger(term) && term >= 1)) return;
  throw new ConfigurationError(`${what} is ${String(term)}; it must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}.`);
}

/** @throws {ConfigurationError} unless an administrator's reason is a text of at most 500 bytes; `advice` ends its message. */
export function checkReason(reason: unknown, advice: string): asserts reason is string {
  if (typeof reason !== "string") {
    throw new ConfigurationError(`reason must be a string, not ${describe(reason)}: ${advice}.`);
  }
  checkText("reason", reason, MAX_REASON_BYTES);
}

export function checkReservation({ group, durationMs }: { readonly group: unknown; readonly durationMs: unknown }): void {
  checkName("group", group);
  // The duration may be months, because no timer waits for it.
  if (typeof durationMs === "number" && Number.isFinite(durationMs) && durationMs >= 1) return;
  throw new ConfigurationError(`reservation.durationMs is ${String(durationMs)}; it must be a number of milliseconds from 1.`);
}

export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text);
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
