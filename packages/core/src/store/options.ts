import { systemClock, type Clock } from "../time/clock.ts";
import type { LeaseStore } from "./lease-store.ts";
import { ConfigurationError } from "../reporting/errors.ts";

export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

type WordOf<Line extends string> = Line extends `${infer First} ${infer Rest}` ? First | WordOf<Rest> : Line;
/** `unknown` if the words are exactly the names. Otherwise a type that no text has, and that shows the difference. */
type Exact<Names, Words> = [Exclude<Names, Words>, Exclude<Words, Names>] extends [never, never]
  ? unknown
  : { readonly missing: Exclude<Names, Words>; readonly unknown: Exclude<Words, Names> };

/** Takes the names of all options as words in lines. The compiler finds a name that is missing, and one that is no option. */
export function defineOptions<Options>(): <Line extends string>(
  ...lines: ReadonlyArray<Line & Exact<keyof Options, WordOf<Line>>>
) => OptionNames<Options> {
  return (...lines) => {
    const names = lines.flatMap((line: string) => line.split(" "));
    return Object.fromEntries(names.map((name) => [name, true])) as unknown as OptionNames<Options>;
  };
}

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
export function checkKnown(hasNo: string, name: string, known: object): void {
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

/** @throws {ConfigurationError} unless the option is one of these words, or absent. */
export function checkChoice(name: string, value: unknown, words: readonly string[]): void {
  if (value === undefined || words.includes(value as string)) return;
  throw new ConfigurationError(`${name} is ${JSON.stringify(value)}; it must be '${words.join("' or '")}'.`);
}

/** Reports whether one name begins with the other, or one has a letter more, or they differ in at most two adjacent letters. */
function areAlike(one: string, other: string): boolean {
  if (one.startsWith(other) || other.startsWith(one)) return true;
  const start = [...one].findIndex((character, at) => character !== other[at]);
  const [restOfOne, restOfOther] = [one.slice(start), other.slice(start)];
  return restOfOne.slice(1) === restOfOther || restOfOne === restOfOther.slice(1) || restOfOne.slice(2) === restOfOther.slice(2);
}

/** Returns the one clock of a store and its users. With two clocks, a lease might seem endless. @throws {ConfigurationError} */
export function sharedClock(store: LeaseStore, given: Clock | undefined): Clock {
  if (given && store.clock && given !== store.clock) {
    throw new ConfigurationError(
      `The ${store.name} store goes by another clock than the one given here. Give the clock to the store alone: an elector or observer takes its store's.`,
    );
  }
  return given ?? store.clock ?? systemClock;
}
