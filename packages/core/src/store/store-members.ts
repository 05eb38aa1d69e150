/** One of the servers or stores that a store is made of, as this process knows it. In a form that JSON keeps. */
export interface StoreMember {
  /** Its name in the configuration. */
  readonly name: string;
  /** Its kind, for instance `sql`. */
  readonly store: string;
  /** Whether its answers count. False also where that holds for one election alone. */
  readonly counts: boolean;
  /** The time for which that has been so, in milliseconds, as far as this process knows. */
  readonly forMs: number;
  /** The reason why it does not count, and what it waits for, in a sentence; undefined where it counts. */
  readonly waitsFor: string | undefined;
}

/**
 * Returns in words which members do not count, for instance: "2 of 3 servers count. c has not for 12 s: it does not answer."
 * Returns undefined where all of them count.
 */
export function membersText(members: readonly StoreMember[], what: string): string | undefined {
  const absent = members.filter(({ counts }) => !counts);
  if (absent.length === 0) return undefined;
  const each = absent.map(({ name, forMs, waitsFor }) => `${name} has not for ${Math.floor(forMs / 1_000)} s: ${waitsFor}`);
  return `${members.length - absent.length} of ${members.length} ${what} count. ${each.join(" ")}`;
}
