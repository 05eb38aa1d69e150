import type { StoreName } from "@leasehold/test-kit/stores/stores";

/**
 * The most requests of a wrapped function in a process that has just started. On a quorum, the requests to each of its members.
 */
export interface Most {
  /** The requests until the function knows that it does not lead. */
  readonly decides: number;
  /** The requests of a whole invocation that leads. */
  readonly leads: number;
  readonly doesAnOccurrence: number;
}

const MOST: Most = {
  // A poll. If the store's clock is not exact, a second one confirms the first.
  decides: 2,
  // An acquisition and a release. An acquisition on a blob takes two requests, but a poll there needs no confirmation.
  leads: 4,
  // A poll, a claim and its end. Then a poll of the note of the last run, and the note.
  doesAnOccurrence: 6,
};
const MOST_OF: Partial<Record<StoreName, Most>> = {
  // An acquisition and a release take two requests each.
  etcd: { ...MOST, leads: 5 },
  // The markers and the roster are read first. Then come a poll, a read, a promise and a write, and a release. The marker of a
  // member is read again for a record that is new to it, at the poll and at the claim. The claim and the note of the last run
  // take a promise and a write each.
  quorum: { decides: 3, leads: 7, doesAnOccurrence: 15 },
};

export function mostRequests(name: StoreName): Most {
  return MOST_OF[name] ?? MOST;
}
