import { ForeignRecordError, type LeaseSnapshot } from "@leasehold/core";
import { blockerOf } from "@leasehold/core/provider";
import { lastPart, type ElectionKeys } from "./keys.ts";
import { decodeInfo, decodeNote, type CandidateInfo, type Note } from "./schema.ts";
import type { Json } from "./transport.ts";
import type { Transaction } from "./requests.ts";
import { createdAt, getting, OLDEST, ranging, type KeyValue } from "./wire.ts";

/** The candidate whose turn it is: its key is the oldest. */
export interface Head {
  readonly hex: string;
  /** The revision that its key was made at: its term. */
  readonly term: number;
  readonly leaseNumber: string;
  readonly value: string;
  /** Absent where the candidate is none of ours: a program in Go, or `etcdctl elect`. */
  readonly info: CandidateInfo | undefined;
  readonly note: Note | undefined;
}

/** An election as one reading showed it. */
export interface Sighting {
  readonly election: string;
  readonly revision: number;
  readonly head: Head | undefined;
}

/** The keys of an election, by the three ranges that they lie in. */
export interface ElectionData {
  readonly candidates: readonly KeyValue[];
  readonly infos: readonly KeyValue[];
  readonly notes: readonly KeyValue[];
}

/** The operations that show who leads: the oldest candidate, what it tells of itself, and the notes. */
export function lookingAt({ candidates, infos, notes }: ElectionKeys): readonly Json[] {
  // What a candidate tells is written with its key. So the oldest of both are one candidate's, unless the oldest is none of ours.
  return [ranging(candidates, OLDEST), ranging(infos, OLDEST), ranging(notes)];
}

/**
 * The reading that shows who leads. A range costs etcd work in proportion to its candidates. So where the leader is known, its own keys are
 * read, on the condition that its key is still the one of that term: whoever came later is younger.
 */
export function lookingFor(keys: ElectionKeys, leader: Pick<Head, "hex" | "term"> | undefined): Transaction {
  if (!leader) return { success: lookingAt(keys) };
  const { hex, term } = leader;
  return { compare: [createdAt(keys.candidate(hex), term)], success: lookingAtOne(keys, hex), failure: lookingAt(keys) };
}

/** What {@link lookingAt} shows where this candidate leads. */
export function lookingAtOne(keys: ElectionKeys, hex: string): readonly Json[] {
  return [getting(keys.candidate(hex)), getting(keys.info(hex)), getting(keys.note(hex))];
}

/** The same for all candidates. */
export function lookingAtAll({ candidates, infos, notes }: ElectionKeys): readonly Json[] {
  return [ranging(candidates), ranging(infos), ranging(notes)];
}

/** Returns what the replies to {@link lookingAt} show. */
export function electionData([candidates = [], infos = [], notes = []]: ReadonlyArray<readonly KeyValue[]>): ElectionData {
  return { candidates, infos, notes };
}

/**
 * Returns who leads.
 * @throws {ForeignRecordError} if the oldest key is no candidate's: Go's candidates wait for it, so that nobody leads.
 */
export function sightingOf(election: string, keys: ElectionKeys, revision: number, data: ElectionData): Sighting {
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
    "a candidate's key ends with the hex of its lease. An election whose name goes on after this one's and a slash would lie here, too";
  throw new ForeignRecordError(election, `The key '${key}' in etcd`, problem);
}

/**
 * Returns the sighting as readers get it; `undefined` if there never was a term, as far as this process knows.
 * @param lastTerm the highest term seen, for when nobody leads: etcd keeps none.
 * @param holdLeftMs the rest of a hold, where that is known.
 */
export function snapshotOf({ election, head }: Sighting, lastTerm: number, holdLeftMs?: number): LeaseSnapshot | undefined {
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

/** Names a candidate. One that is none of ours is named by its value, else by its lease. */
export function namesOf({ hex, value, info }: Head): Pick<LeaseSnapshot, "holder" | "value"> {
  if (info) return { holder: info.candidateId, ...(info.published ? { value } : {}) };
  return { holder: value === "" ? `lease ${hex}` : value, value };
}
