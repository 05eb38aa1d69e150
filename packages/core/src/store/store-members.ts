/** One of the servers or stores that a store is made of, as this process knows it. It can be written as JSON. */
export interface StoreMember {
  readonly name: string;
  readonly store: string;
  /** True if its answers count. Also false if they fail to count for just one election. */
  readonly counts: boolean;
  /** The time for which `counts` has been so, in milliseconds, as far as this process knows. */
  readonly forMs: number;
  /** The reason why the member does not count, and what it waits for, in one sentence; undefined where it counts. */
  readonly waitsFor: string | undefined;
}

/** Returns a text about members that do not count: "2 of 3 servers count. c has not counted for 12 s: it does not answer." */
export function membersText(members: readonly StoreMember[], what: string): string | undefined {
  const absent = members.filter(({ counts }) => !counts);
  if (absent.length === 0) return undefined;
  const each = absent.map(
    ({ name, forMs, waitsFor }) => `${name} has not counted for ${Math.floor(forMs / 1_000)} s: ${waitsFor}`,
  );
  return `${members.length - absent.length} of ${members.length} ${what} count. ${each.join(" ")}`;
}
