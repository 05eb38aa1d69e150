import { ConfigurationError } from "@leasehold/core";
import { decodeName, encodeName } from "@leasehold/core/provider";

export const DEFAULT_PREFIX = "leasehold/";

/** The limit of both services, in bytes. */
const MAX_KEY = 1_024;
/** The longest prefix. With it, the key of any election fits. */
const MAX_PREFIX = 200;

/** @throws {ConfigurationError} unless the text can begin a key. An empty one is allowed. */
export function checkPrefix(prefix: unknown): void {
  // https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html (safe characters)
  const isText = typeof prefix === "string" && prefix.length <= MAX_PREFIX && /^(?!\/)[\w!.*'()/-]*$/.test(prefix);
  // A name is appended to the part after the last slash, so that part may consist of dots.
  if (isText && !hasDots(prefix.slice(0, prefix.lastIndexOf("/") + 1))) return;
  throw new ConfigurationError(
    `prefix is ${JSON.stringify(prefix)}; it must have at most ${MAX_PREFIX} letters, digits, and ! - _ . * ' ( ) /, no segment '.' or '..', and not begin with a slash.`,
  );
}

/** Reports whether a part between slashes is `.` or `..`. A URL drops such a part, so the request would name another object. */
export function hasDots(key: string): boolean {
  return key.split("/").some((segment) => segment === "." || segment === "..");
}

/** The keys below a prefix. An election's key has no slash after the prefix. No election's key begins with a dot. */
export class Keys {
  readonly prefix: string;

  constructor(prefix: string) {
    this.prefix = prefix;
  }

  /** The beginning of the keys of all occurrences. */
  get ticks(): string {
    return `${this.prefix}ticks/`;
  }

  /** The key of the object by which a store proves that the service keeps conditions. */
  get probe(): string {
    return `${this.prefix}.probe`;
  }

  /** Returns the key of an election. For the beginning of a name, returns the beginning of the keys. */
  lease(election: string): string {
    return this.prefix + encodeName(election);
  }

  /** Returns the election of a key; `undefined` if the key is not of a lease. */
  electionOf(key: string): string | undefined {
    const name = key.slice(this.prefix.length);
    return name === "" ? undefined : decodeName(name);
  }

  /** @throws {ConfigurationError} if the names are too long for a key. */
  occurrence(election: string, occurrence: string): string {
    const key = `${this.ticks}${encodeName(election)}/${encodeName(occurrence)}`;
    if (key.length <= MAX_KEY) return key;
    const message = `The occurrence '${occurrence}' takes ${key.length} characters as a key; at most ${MAX_KEY} fit.`;
    throw new ConfigurationError(message, { election });
  }
}
