import type { StoreName } from "@leasehold/test-kit/stores/stores";

/** How many requests a wrapped function sends at most in a process that has just started; on a quorum, to each of its members. */
export interface Most {
  /** Until it knows that it does not lead. */
  readonly decides: number;
  /** In all of an invocation that leads. */
  readonly leads: number;
  readonly doesAnOccurrence: number;
}

const MOST: Most = {
  // A look, and where the store's clock is not exact another one that confirms the first.
  decides: 2,
  // An acquisition, which is two on a blob, where a look needs no confirmation; and a release.
  leads: 4,
  // A look, a claim and its end; and then a look at the note of the last run, and the note.
  doesAnOccurrence: 6,
};
const MOST_OF: Partial<Record<StoreName, Most>> = {
  // An acquisition and a release are two each.
  etcd: { ...MOST, leads: 5 },
  // The markers and the roster are read first; then a look, a reading, a promise and a write, and a release. What is new to a member
  // has its marker read again, at the look and at the claim. The claim and the note of the last run are a promise and a write each.
  quorum: { decides: 3, leads: 7, doesAnOccurrence: 15 },
};

export function mostRequests(name: StoreName): Most {
  return MOST_OF[name] ?? MOST;
}
