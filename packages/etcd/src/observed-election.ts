import { ForeignRecordError, blockerOf } from "@leasehold/core/provider";
import type { LeaseSnapshot } from "@leasehold/core";
import { lastPart, type ElectionKeys } from "./keys.ts";
import { decodeInfo, decodeNote, type CandidateInfo, type Note } from "./schema.ts";
import type { Json } from "./transport.ts";
import type { Transaction } from "./requests.ts";
import { createdAt, getting, OLDEST, ranging, type KeyValue } from "./wire.ts";

/** The candidate whose turn it is, because its key is the oldest. */
export interface Head {
  readonly hex: string;
  /** The revision at which its key was created: its term. */
  readonly term: number;
  readonly leaseNumber: string;
  readonly value: string;
  /** Absent if the candidate is not Leasehold's: a program in Go, or `etcdctl elect`. */
  readonly info: CandidateInfo | undefined;
  readonly note: Note | undefined;
}

/** An election as one read showed it. */
export interface ObservedElection {
  readonly election: string;
  readonly revision: number;
  readonly head: Head | undefined;
}

/** The keys of an election, by the three ranges that contain them. */
export interface ElectionData {
  readonly candidates: readonly KeyValue[];
  readonly infos: readonly KeyValue[];
  readonly notes: readonly KeyValue[];
}

/** Returns the operations that show who leads: the oldest candidate, its info, and the notes. */
export function lookingAt({ candidates, infos, notes }: ElectionKeys): readonly Json[] {
  // A candidate writes its info together with its key. So the oldest key and the oldest info are of one candidate, unless the
  // oldest key is not Leasehold's.
  return [ranging(candidates, OLDEST), ranging(infos, OLDEST), ranging(notes)];
}

/**
 * Returns the read that shows who leads. A range costs etcd work in proportion to its candidates. So if the leader is known, only
 * its own keys are read. The condition is that the leader's key still exists with that term. The keys of all other candidates are
 * younger.
 */
export function lookingFor(keys: ElectionKeys, leader: Pick<Head, "hex" | "term"> | undefined): Transaction {
  if (!leader) return { success: lookingAt(keys) };
  const { hex, term } = leader;
  return { compare: [createdAt(keys.candidate(hex), term)], success: lookingAtOne(keys, hex), failure: lookingAt(keys) };
}

/** Returns operations with the same results as those of {@link lookingAt}, if this candidate leads. */
export function lookingAtOne(keys: ElectionKeys, hex: string): readonly Json[] {
  return [getting(keys.candidate(hex)), getting(keys.info(hex)), getting(keys.note(hex))];
}

/** Returns the keys in the replies to {@link lookingAt}. */
export function electionData([candidates = [], infos = [], notes = []]: ReadonlyArray<readonly KeyValue[]>): ElectionData {
  return { candidates, infos, notes };
}

/**
 * Returns the election with its leader.
 * @throws {ForeignRecordError} if the oldest key is not a candidate's: Go's candidates wait for it, so no candidate leads.
 */
export function sightingOf(election: string, keys: ElectionKeys, revision: number, data: ElectionData): ObservedElection {
  const [first, ...others] = data.candidates;
  if (!first) return { election, revision, head: undefined };
  const oldest = others.reduce((one, other) => (other.createRevision < one.createRevision ? other : one), first);
  const hex = candidateOf(election, keys, oldest);
  const own = (part: readonly KeyValue[]): string | undefined => part.find(({ key }) => lastPart(key) === hex)?.value;
  const note = own(data.notes);
  const head = {
    hex,
    term: oldest.createRevision,
    leaseNumber: oldest.lease,
    value: oldest.value,
    info: decodeInfo(own(data.infos)),
    note: note === undefined ? undefined : decodeNote(note),
  };
  return { election, revision, head };
}

/** Returns the hex of the lease that a candidate's key names. @throws {ForeignRecordError} if it names none. */
export function candidateOf(election: string, keys: ElectionKeys, { key }: KeyValue): string {
  const hex = keys.hexOf(key);
  if (hex !== undefined) return hex;
  const problem =
    "it does not end with the hex of a lease. An election whose name begins with this one's and a slash has its keys here, too";
  throw new ForeignRecordError(election, `The key '${key}' in etcd`, problem);
}

/**
 * Returns the election as readers get it; `undefined` if there never was a term, as far as this process knows.
 * @param lastTerm the highest term seen; it is used if no candidate leads, because etcd then keeps no term.
 * @param holdLeftMs the rest of a hold, if it is known.
 */
export function snapshotOf(
  { election, head }: ObservedElection,
  lastTerm: number,
  holdLeftMs?: number,
): LeaseSnapshot | undefined {
  if (!head) return lastTerm === 0 ? undefined : { election, state: "vacant", term: lastTerm };
  const { term, info, note } = head;
  const lease = info ? { leaseDurationMs: info.leaseDurationMs } : {};
  if (note?.kind === "hold") {
    const bar = blockerOf({ state: "vacant", holdMs: holdLeftMs ?? note.holdMs });
    return { election, state: "vacant", term, ...lease, ...(bar ? { bar } : {}) };
  }
  return {
    election,
    state: note ? "ending" : "held",
    term,
    ...namesOf(head),
    ...lease,
    bar: { kind: "lease" },
    ...(note ? { endingReason: note.reason } : {}),
  };
}

/**
 * Returns a candidate's name and value. A candidate that is not Leasehold's is named by its value, or by its lease if the value
 * is empty.
 */
export function namesOf({ hex, value, info }: Head): Pick<LeaseSnapshot, "holder" | "value"> {
  if (info) return { holder: info.candidateId, ...(info.published ? { value } : {}) };
  return { holder: value === "" ? `lease ${hex}` : value, value };
}
