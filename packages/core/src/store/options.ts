import { ConfigurationError } from "../reporting/errors.ts";

/** Refuses unknown options, such as a mistyped name. @throws {ConfigurationError} that suggests a known one or lists all. */
export function checkOptions(whose: string, given: object, known: Readonly<Record<string, true>>): void {
  if (typeof given !== "object" || given === null) throw new ConfigurationError(`${whose} needs its options, an object.`);
  for (const name of Object.keys(given)) checkKnown(`${whose} has no option`, name, known);
}

/** Refuses unknown options of a call. The commonest mistake is to pass the signal itself as the options. */
export function checkCallOptions(whose: string, given: object, known: Readonly<Record<string, true>>): void {
  if (!(given instanceof AbortSignal)) return checkOptions(whose, given, known);
  throw new ConfigurationError(`${whose} takes its options as an object, and was given an AbortSignal. Pass { signal }.`);
}

/** @throws {ConfigurationError} for an unknown name. The message begins with `hasNo`. */
export function checkKnown(hasNo: string, name: string, known: Readonly<Record<string, true>>): void {
  if (Object.hasOwn(known, name)) return;
  const meant = Object.keys(known).find((one) => areAlike(one.toLowerCase(), name.toLowerCase()));
  const advice = meant === undefined ? `There are: ${Object.keys(known).join(", ")}.` : `Was '${meant}' meant?`;
  throw new ConfigurationError(`${hasNo} '${name}'. ${advice}`);
}

/** @throws {ConfigurationError} for a given signal that is not an AbortSignal. */
export function checkSignal(whose: string, given: unknown, election: string): void {
  if (given === undefined || given instanceof AbortSignal) return;
  throw new ConfigurationError(`The signal given to ${whose} is not an AbortSignal.`, { election });
}

/** @throws {ConfigurationError} unless the option is true, false or absent. */
export function checkBoolean(what: string, given: unknown): void {
  if (given !== undefined && typeof given !== "boolean") throw new ConfigurationError(`${what} must be true or false.`);
}

/** Reports whether one name begins with the other, or one has a letter more, or they differ in at most two adjacent letters. */
function areAlike(one: string, other: string): boolean {
  if (one.startsWith(other) || other.startsWith(one)) return true;
  const start = [...one].findIndex((character, at) => character !== other[at]);
  const [restOfOne, restOfOther] = [one.slice(start), other.slice(start)];
  return [
    restOfOne.slice(1) === restOfOther,
    restOfOne === restOfOther.slice(1),
    restOfOne.slice(2) === restOfOther.slice(2),
  ].some(Boolean);
}
