import { ConfigurationError } from "../reporting/errors.ts";

/**
 * Refuses what is no option: a name that was mistyped, or is another library's, would be ignored without a word.
 * @throws {ConfigurationError} that names it, and what may have been meant.
 */
export function checkOptions(whose: string, given: object, known: Readonly<Record<string, true>>): void {
  if (typeof given !== "object" || given === null) throw new ConfigurationError(`${whose} needs its options, an object.`);
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const meant = Object.keys(known).find((name) => areAlike(name.toLowerCase(), unknown.toLowerCase()));
  const advice = meant === undefined ? `There are: ${Object.keys(known).join(", ")}.` : `Was '${meant}' meant?`;
  throw new ConfigurationError(`${whose} has no option '${unknown}'. ${advice}`);
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
