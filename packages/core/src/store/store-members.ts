/** The servers or stores that a store is made of, as this process knows them. In a form that JSON keeps. */
export interface StoreMembers {
  /** The number of all of them. */
  readonly total: number;
  /** The number that must answer: a majority. */
  readonly needed: number;
  /** Those that do not count at present. */
  readonly absent: readonly AbsentMember[];
}

/** A member that does not count at present. */
export interface AbsentMember {
  readonly name: string;
  /** What keeps it out, as the end of a sentence that begins with its name: "does not answer". */
  readonly why: string;
  /** The time for which that has lasted at least, in milliseconds. */
  readonly forMs: number;
}

/**
 * Returns in words which members do not count, for instance: "2 of 3 servers count: c does not answer, since 12 s at least."
 * Returns undefined where all of them count.
 */
export function membersText({ total, absent }: StoreMembers, what: string): string | undefined {
  if (absent.length === 0) return undefined;
  const each = absent.map(({ name, why, forMs }) => `${name} ${why}, since ${Math.floor(forMs / 1_000)} s at least`);
  return `${total - absent.length} of ${total} ${what} count: ${each.join("; ")}.`;
}
