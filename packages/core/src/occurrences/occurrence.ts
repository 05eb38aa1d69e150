import { ConfigurationError } from "../reporting/errors.ts";
import { checkName } from "../store/names.ts";
import { isoOf, msOfIso } from "../time/clock.ts";

/** One occurrence of a schedule. Every delivery of it names the same two fields, on every host. */
export interface Occurrence {
  /** The schedule's name, the same on every host. */
  readonly name: string;
  /** The time at which it was due, in milliseconds since the Unix epoch. Not the time of its delivery. */
  readonly scheduledMs: number;
}

/** Work that is done once for a key, for instance once for each deployed version. Every host names the same two fields. */
export interface KeyedOccurrence {
  /** The work's name, the same on every host. */
  readonly name: string;
  readonly key: string;
}

interface Claim {
  /** Its name in the store, such as `nightly@2026-11-20T03:00:00.000Z`: a key by which its effects can be recognised. */
  readonly id: string;
  /** The number of the attempt, from 1. It is the term of the leadership. */
  readonly attempt: number;
}

/** An occurrence that a candidate has claimed. */
export interface ClaimedOccurrence extends Occurrence, Claim {}

/** An occurrence with a key that a candidate has claimed. Its `id` is for instance `migrate@4f2c9aa`. */
export interface ClaimedKey extends KeyedOccurrence, Claim {}

/** The last instant that ISO 8601 can name with a year of four digits, in milliseconds since the Unix epoch. */
export const LAST_MS = 253_402_300_799_999;

/** Returns an occurrence's name in the store. `advice` ends the message about an invalid one. @throws {ConfigurationError} */
export function occurrenceId(occurrence: Occurrence, advice: string): string {
  // A user's function may have returned nothing.
  const { name, scheduledMs } = ((occurrence as Occurrence | undefined) ?? {}) as Occurrence;
  if (typeof scheduledMs !== "number" || !(scheduledMs >= 0 && scheduledMs <= LAST_MS)) {
    throw new ConfigurationError(
      `The occurrence's scheduledMs is ${String(scheduledMs)}; it must be the milliseconds from 1970 to when it was due.`,
    );
  }
  if (typeof name !== "string" || name === "") {
    throw new ConfigurationError(
      `The occurrence's name is ${JSON.stringify(name) ?? "missing"}; it must be the schedule's. ${advice}`,
    );
  }
  const id = `${name}@${isoOf(scheduledMs)}`;
  checkName("occurrence", id);
  return id;
}

/** Returns the name of an occurrence with a key, such as `migrate@4f2c9aa`. @throws {ConfigurationError} above 255 bytes. */
export function keyedOccurrenceId({ name, key }: KeyedOccurrence): string {
  checkName("name", name);
  checkName("key", key);
  const id = `${name}@${key}`;
  checkName("occurrence", id);
  return id;
}

/** Returns the schedule's name if `election` is the name of an occurrence, else `election` itself. */
export function withoutOccurrence(election: string): string {
  return election.replace(/@\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/, "");
}

/** A date with a time and a zone. Without a zone it would be another instant on another machine. */
const INSTANT = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:?\d{2})$/i;

/** Returns the instant that a text names, in milliseconds since the Unix epoch. @throws {ConfigurationError} with the advice. */
export function scheduledMsOf(text: unknown, where: string, advice: string): number {
  const ms = typeof text === "string" && INSTANT.test(text) ? msOfIso(text) : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  throw new ConfigurationError(
    `${where} is ${JSON.stringify(text) ?? "missing"}, not a time in ISO 8601 with its zone. ${advice}`,
  );
}
