import { ConfigurationError } from "@leasehold/core";
import { beginning, below, type KeyRange } from "./wire.ts";

/** The prefix of keys that only Leasehold uses, away from Go's elections. */
export const OWN = ".leasehold/";

/**
 * The keys of one election. A candidate's key is that of Go's `concurrency.Election`: the election's name, a slash, and the lease
 * in hex. Keys that Go does not have lie below `.leasehold/`: a candidate's info, and the note that ends its term. There the
 * slashes of the name are encoded, so that no election is inside another.
 */
export class ElectionKeys {
  readonly prefix: string;
  readonly candidates: KeyRange;
  readonly infos: KeyRange;
  readonly notes: KeyRange;
  readonly #own: string;

  /** @throws {ConfigurationError} for an election whose keys would lie among the store's own. */
  constructor(prefix: string, election: string) {
    this.prefix = `${prefix}${election}/`;
    if (this.prefix.startsWith(OWN) || OWN.startsWith(this.prefix)) {
      throw new ConfigurationError(
        `An election of this name would have its keys below '${OWN}', which is kept for the store's own keys.`,
        { election },
      );
    }
    this.#own = `${OWN}${encoded(`${prefix}${election}`)}/`;
    this.candidates = below(this.prefix);
    this.infos = below(`${this.#own}candidates/`);
    this.notes = below(`${this.#own}notes/`);
  }

  candidate(hex: string): string {
    return this.prefix + hex;
  }

  info(hex: string): string {
    return `${this.#own}candidates/${hex}`;
  }

  note(hex: string): string {
    return `${this.#own}notes/${hex}`;
  }

  /** The keys of the occurrences of a schedule with this name. */
  get occurrences(): OccurrenceKeys {
    return new OccurrenceKeys(`${this.#own}ticks/`);
  }

  /** Returns the lease in a candidate's key, in hex; `undefined` if the key is not a candidate's. */
  hexOf(key: string): string | undefined {
    const rest = key.slice(this.prefix.length);
    return isLeaseHex(rest) ? rest : undefined;
  }
}

/** The keys of the occurrences of one schedule, or of all fleets. */
export class OccurrenceKeys {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Returns the keys of the fleets. No election has an empty name, so none has these keys. */
  static ofFleets(prefix: string): OccurrenceKeys {
    return new OccurrenceKeys(`${OWN}/${encoded(prefix)}/`);
  }

  record(occurrence: string): string {
    return `${this.#prefix}records/${encoded(occurrence)}`;
  }

  /** Returns the range of the records whose names begin with a text, and the range of their marks. */
  recordsAndMarks(begin: string): readonly [KeyRange, KeyRange] {
    return [beginning(this.record(begin)), beginning(`${this.#prefix}marks/${encoded(begin)}`)];
  }

  fence(occurrence: string): string {
    return `${this.#prefix}fences/${encoded(occurrence)}`;
  }

  fenceValue(term: number, termId: string): string {
    return `${term} ${termId}`;
  }

  /** Returns the range of the marks that show the age of the nonce in an occurrence's record. */
  marks(occurrence: string): KeyRange {
    return below(`${this.#prefix}marks/${encoded(occurrence)}/`);
  }

  mark(occurrence: string, nonce: string, durationMs: number): string {
    return `${this.#prefix}marks/${encoded(occurrence)}/${encoded(nonce)}/${durationMs}`;
  }
}

/**
 * Returns the election of a candidate's key: the text before the last slash. The text after it is the hex of the lease that the
 * key is on. Returns `undefined` for any other key. @param key without the store's prefix.
 */
export function candidateKeyOf(key: string, lease: string): string | undefined {
  const slash = key.lastIndexOf("/");
  const hex = key.slice(slash + 1);
  return slash > 0 && isLeaseHex(hex) && leaseNumber(hex) === lease ? key.slice(0, slash) : undefined;
}

/** Reports whether a text is the number of a lease, in hex. */
export function isLeaseHex(text: string): boolean {
  return /^[0-9a-f]{1,16}$/.test(text);
}

/** Returns the last part of a key. */
export function lastPart(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

/** Returns a name without slashes. */
export function encoded(name: string): string {
  return name.replaceAll("%", "%25").replaceAll("/", "%2F");
}

/** Returns the name of which {@link encoded} has made this text. */
export function decoded(text: string): string {
  return text.replaceAll("%2F", "/").replaceAll("%25", "%");
}

/** Returns a lease's number, as decimal digits, from its hex. */
export function leaseNumber(hex: string): string {
  return BigInt(`0x${hex}`).toString();
}

/** Returns the hex, without leading zeros, of a random lease of our own: a positive number of 63 bits. */
export function randomLease(uuid: string): string {
  // In a version 4 UUID, the 48 bits before the version are random, and so are the last 16 bits.
  const digits = uuid.replaceAll("-", "");
  const random = BigInt(`0x${digits.slice(0, 12)}${digits.slice(-4)}`);
  return ((random & 0x7fff_ffff_ffff_ffffn) | 1n).toString(16);
}
