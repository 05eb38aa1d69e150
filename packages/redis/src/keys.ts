import { ConfigurationError } from "@leasehold/core";

export const DEFAULT_PREFIX = "leasehold:";

/** The field of a hash that holds its fence. */
export const FENCE_FIELD = "fence";

/** The keys of one record. On a cluster all keys of an election are in one slot, because they have its name as their hash tag. */
export interface RecordKeys {
  /** The hash of the record, and the channel on which its changes are announced. */
  readonly record: string;
  /** The hash with the fence. It is the record's own hash for an occurrence. */
  readonly fence: string;
}

/** @throws {ConfigurationError} unless the text can be the beginning of every key. */
export function checkPrefix(prefix: unknown): asserts prefix is string {
  if (typeof prefix === "string" && !/[{}]/.test(prefix) && prefix.isWellFormed()) return;
  throw new ConfigurationError(
    `prefix is ${JSON.stringify(prefix) ?? "undefined"}; it must be a text without braces, because a Redis Cluster takes what is between braces for the hash tag.`,
  );
}

export function leaseKeys(prefix: string, election: string): RecordKeys {
  const record = tagged(prefix, election);
  return { record, fence: `${record}:fence` };
}

/** Returns the keys of an occurrence. Its record is its own fence, because both expire together. */
export function occurrenceKeys(prefix: string, election: string, occurrence: string): RecordKeys {
  const record = `${tagged(prefix, election)}:tick:${occurrence}`;
  return { record, fence: record };
}

/** Returns the pattern by which SCAN finds the keys of the elections whose names begin with a text, and some other keys. */
export function leasePattern(prefix: string, beginning: string): string {
  return `${prefix}{${encoded(beginning)}`.replaceAll(/[\\*?[\]^]/g, String.raw`\$&`) + "*}";
}

/** Returns the election whose record has that key; `undefined` for any other key. */
export function electionOf(prefix: string, key: string): string | undefined {
  const name = key.slice(prefix.length + 1, -1);
  if (key !== `${prefix}{${name}}` || /[{}]/.test(name)) return undefined;
  const election = name.replaceAll(/%(25|7B|7D)/g, (escape) => decodeURIComponent(escape));
  return encoded(election) === name ? election : undefined;
}

function tagged(prefix: string, election: string): string {
  return `${prefix}{${encoded(election)}}`;
}

/** Encodes the characters that would end the hash tag, or that begin an escape. */
function encoded(name: string): string {
  return name.replaceAll(/[%{}]/g, (character) => encodeURIComponent(character));
}
