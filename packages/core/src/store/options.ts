import { ConfigurationError } from "../reporting/errors.ts";

/**
 * Refuses what is no option: a name that was mistyped, or is another library's, would be ignored without a word.
 * @throws {ConfigurationError} that names it, and what may have been meant.
 */
export function checkOptions(whose: string, given: object, known: Readonly<Record<string, true>>): void {
  if (typeof given !== "object" || given === null) throw new ConfigurationError(`${whose} needs its options, an object.`);
  for (const name of Object.keys(given)) checkKnown(`${whose} has no option`, name, known);
}

/**
 * Refuses what is no option of a call. Its signal alone is the commonest mistake: it would never be heard.
 * @throws {ConfigurationError} that says what to pass.
 */
export function checkCallOptions(whose: string, given: object, known: Readonly<Record<string, true>>): void {
  if (!(given instanceof AbortSignal)) return checkOptions(whose, given, known);
  throw new ConfigurationError(`${whose} takes its options as an object, and was given an AbortSignal. Pass { signal }.`);
}

/** @throws {ConfigurationError} for a name that there is not, beginning with `hasNo`; it says what may have been meant. */
export function checkKnown(hasNo: string, name: string, known: Readonly<Record<string, true>>): void {
  if (Object.hasOwn(known, name)) return;
  const meant = Object.keys(known).find((one) => areAlike(one.toLowerCase(), name.toLowerCase()));
  const advice = meant === undefined ? `There are: ${Object.keys(known).join(", ")}.` : `Was '${meant}' meant?`;
  throw new ConfigurationError(`${hasNo} '${name}'. ${advice}`);
}

/** @throws {ConfigurationError} for what is given as a signal and is none. */
export function checkSignal(whose: string, given: unknown, election: string): void {
  if (given === undefined || given instanceof AbortSignal) return;
  throw new ConfigurationError(`The signal given to ${whose} is not an AbortSignal.`, { election });
}

/** Reports whether one name begins like the other, or they differ in one letter, or in two side by side. */
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
