import {
  ForeignRecordError,
  QUORUM_SCHEMA,
  RECORD_SCHEMA,
  vacantRecord,
  type LeaseRecord,
  type StoredRecord,
} from "@leasehold/core/provider";
import { ConfigurationError } from "@leasehold/core";
import type { Ballot } from "./ballot.ts";
import type { Roster } from "./roster.ts";

/** A proposed record. Every round that repeats it writes the same proposal under a new ballot. */
export interface Proposal {
  /** A random id, one per `put`. It is the version of the replicated record. */
  readonly write: string;
  /** The chosen write that this one replaces; null if there was none. */
  readonly base: string | null;
  readonly record: LeaseRecord;
  /**
   * The writer's wall clock when it sent the nonce. A proposal that keeps the replaced record's nonce takes the time from the
   * replaced proposal, just before its accept.
   */
  readonly wallMs?: number | undefined;
}

/** The state that a member keeps of one election. */
export interface State {
  /** The member accepts no ballot below this one. */
  readonly promised: Ballot | undefined;
  /** The ballot under which `proposal` was accepted. */
  readonly accepted: Ballot | undefined;
  readonly proposal: Proposal | undefined;
  /** The highest promise of each member that the writer of this state knew. */
  readonly seen: Readonly<Record<string, Ballot>>;
}

/** A state that a member keeps, and the other facts in the member's record. */
export interface MemberState extends State {
  /** The member's version of the record; `undefined` if it has none. */
  readonly version: string | undefined;
  /** The number of the roster that the writer used. */
  readonly roster: number;
  /** The marker of this member's store in that roster. */
  readonly incarnation: string | undefined;
  /** Bounds of the nonce's age by the member's own clock. Only a read has them, and only if the store reports ages. */
  readonly ageMs?: readonly [min: number, max: number] | undefined;
}

export const NOTHING: MemberState = {
  version: undefined,
  roster: 0,
  incarnation: undefined,
  promised: undefined,
  accepted: undefined,
  proposal: undefined,
  seen: {},
};

/** The layout of {@link LeaseRecord.quorum}. */
interface Note {
  /** The number of the roster that the writer used. */
  readonly roster: number;
  /** The marker of each member's store, by that roster. */
  readonly members: Readonly<Record<string, string>>;
  readonly promised: Ballot | null;
  readonly accepted: Ballot | null;
  readonly write: string | null;
  readonly base: string | null;
  readonly wallMs: number | null;
  readonly seen: Readonly<Record<string, Ballot>>;
}

/** The record of a member that has promised, and has accepted nothing yet. It names no leader. */
export const UNACCEPTED: LeaseRecord = vacantRecord({ term: 0, nonce: "none" });

/** Returns the record in which a member stores a state. */
export function recordOf(state: State, { number, incarnations }: Roster): LeaseRecord {
  const { promised = null, accepted = null, proposal, seen } = state;
  const note: Note = {
    roster: number,
    members: incarnations,
    promised,
    accepted,
    write: proposal?.write ?? null,
    base: proposal?.base ?? null,
    wallMs: proposal?.wallMs ?? null,
    seen,
  };
  return { ...(proposal?.record ?? UNACCEPTED), schema: QUORUM_SCHEMA, quorum: JSON.stringify(note) };
}

/** A member's name, and the sorted names of all members. */
export interface MemberIdentity {
  readonly name: string;
  /** The member's name and kind of store, for messages. */
  readonly place: string;
  readonly names: readonly string[];
}

/**
 * Returns the state that a member's record shows.
 * @throws {ForeignRecordError} if no quorum wrote it.
 * @throws {ConfigurationError} if a quorum with other members wrote it.
 */
export function decodeMember(
  election: string,
  { name, place, names }: MemberIdentity,
  stored: StoredRecord | undefined,
): MemberState {
  // A deleted record counts as absent, although the member's fence still has the record's term.
  if (!stored || stored.lostTerm !== undefined) return NOTHING;
  const { data, version, nonceAgeMs: ageMs } = stored;
  const record = (typeof data === "object" && data !== null ? data : {}) as Partial<LeaseRecord>;
  if (record.schema !== QUORUM_SCHEMA) {
    const problem =
      record.schema === RECORD_SCHEMA
        ? "a store that is used without a quorum has written it"
        : "no quorum of this version has written it";
    throw new ForeignRecordError(election, place, problem);
  }
  const note = noteOf(record.quorum);
  if (!note) throw new ForeignRecordError(election, place, "its quorum is not valid");
  const others = Object.keys(note.members);
  if (others.length !== names.length || !names.every((one) => Object.hasOwn(note.members, one))) {
    throw new ConfigurationError(
      `${place} is a member of the quorum of ${others.toSorted().join(", ")}, but this quorum is of ${names.join(", ")}: two lists would make two majorities. Give every process the same names.`,
      { election },
    );
  }
  const { schema: _, quorum: __, ...kept } = record;
  const { roster, members, promised, accepted, write, base, wallMs, seen } = note;
  return {
    version,
    roster,
    incarnation: members[name],
    ageMs,
    promised: promised ?? undefined,
    accepted: accepted ?? undefined,
    proposal:
      write === null
        ? undefined
        : { write, base, record: { ...kept, schema: RECORD_SCHEMA } as LeaseRecord, wallMs: wallMs ?? undefined },
    seen,
  };
}

function noteOf(text: unknown): Note | undefined {
  if (typeof text !== "string") return undefined;
  let note: Partial<Record<keyof Note, unknown>> | null;
  try {
    note = JSON.parse(text) as typeof note;
  } catch {
    return undefined;
  }
  if (typeof note !== "object" || note === null) return undefined;
  const { roster, members, promised, accepted, write, base, wallMs, seen } = note;
  const isSound =
    Number.isSafeInteger(roster) &&
    typeof members === "object" &&
    members !== null &&
    isBallot(promised) &&
    isBallot(accepted) &&
    isText(write) &&
    isText(base) &&
    (wallMs === null || typeof wallMs === "number") &&
    (accepted === null) === (write === null) &&
    typeof seen === "object" &&
    seen !== null &&
    Object.values(seen).every(isBallot);
  return isSound ? (note as Note) : undefined;
}

function isBallot(value: unknown): boolean {
  if (value === null) return true;
  const { round, proposer } = (typeof value === "object" ? value : {}) as Partial<Record<keyof Ballot, unknown>>;
  return Number.isSafeInteger(round) && typeof proposer === "string";
}

function isText(value: unknown): boolean {
  return value === null || typeof value === "string";
}
