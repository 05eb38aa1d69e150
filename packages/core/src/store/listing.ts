import { UnsupportedError } from "../reporting/errors.ts";
import type { AdminCallOptions } from "./admin-calls.ts";
import { duration } from "./lease-limits.ts";
import type { LeaseSnapshot } from "./lease-snapshot.ts";
import { checkName } from "./names.ts";
import { checkCallOptions, checkSignal } from "./options.ts";

/** One election of a store, as of its own read. `foreign`: its record cannot be read as a lease; `problem` says why. */
export type ListedElection = LeaseSnapshot | { readonly election: string; readonly state: "foreign"; readonly problem: string };

export interface ListOptions extends AdminCallOptions {
  /** Its abort ends the list: in place of the next entry, the iteration throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The most entries that one request of a list should ask for. With the longest values they are some megabytes. */
export const LIST_PAGE_SIZE: number = 100;

const LIST_OPTIONS = { signal: true, timeoutMs: true } as const satisfies Record<keyof ListOptions, true>;

/** Checks the arguments of `list`. @throws {ConfigurationError} unless the prefix is empty, or may begin a name. */
export function checkList(prefix: unknown, options: ListOptions): asserts prefix is string {
  if (prefix !== "") checkName("prefix", prefix);
  checkCallOptions("list()", options, LIST_OPTIONS);
  checkSignal("list()", options.signal, prefix);
  if (options.timeoutMs !== undefined) duration("timeoutMs", options.timeoutMs);
}

export function cannotList(store: string, prefix: unknown, options: ListOptions): never {
  checkList(prefix, options);
  throw new UnsupportedError(`${store} cannot list its elections. Read each of them by its name.`);
}

export function cannotPause(store: string, election: string): never {
  checkName("election", election);
  throw new UnsupportedError(`${store} keeps no pause of an election. Stop its candidates instead, and start them to resume.`, {
    election,
  });
}

/** The last code point of Unicode, and the range of the surrogates, which are no characters. */
const LAST_CODE_POINT = 0x10_ff_ff;
const FIRST_SURROGATE = 0xd8_00;
const AFTER_SURROGATES = 0xe0_00;

/** Returns the least text above every text with this prefix, by code point; `undefined` if there is none. */
export function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  while (points.at(-1) === LAST_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  const next = last + 1 === FIRST_SURROGATE ? AFTER_SURROGATES : last + 1;
  return String.fromCodePoint(...points, next);
}
