import { ForeignRecordError } from "@leasehold/core";
import type { LeaseRecord } from "@leasehold/core/provider";
import type { Ballot } from "./ballot.ts";
import type { CallLimits } from "./call-limits.ts";
import { UNACCEPTED, type Kept, type Proposal } from "./kept.ts";
import type { MemberLimits } from "./member.ts";

/** The record in which the members, as a quorum, keep who they are. No election may have this name. */
export const ROSTER = "leasehold-quorum-members";
/** The record by which each store is known again. No election may have this name. */
export const MARKER = "leasehold-quorum-marker";

/** Who the members are. */
export interface Roster {
  /** Rises with every change. */
  readonly number: number;
  /** The marker of each member's store, by name. */
  readonly incarnations: Readonly<Record<string, string>>;
  /** The members whose store has come in place of another one: that it has no record of an election says nothing. */
  readonly later: readonly string[];
  /** The markers of the stores that were replaced last: they do not come back. */
  readonly past: readonly string[];
}

/** The roster in which one member's store is another one. */
export function replaced(roster: Roster, name: string, incarnation: string): Roster {
  const { number, incarnations, later, past } = roster;
  return {
    number: number + 1,
    incarnations: { ...incarnations, [name]: incarnation },
    later: [...new Set([...later, name])],
    past: [...past, incarnations[name] as string].slice(-PAST),
  };
}

/** Whether two rosters can be of one quorum: members that they have, or have had, are the same. */
export function areRelated(one: Roster, other: Roster): boolean {
  const markers = new Set(markersOf(one));
  return markersOf(other).some((marker) => markers.has(marker));
}

/** The roster of the highest number. */
export function newestOf(rosters: Iterable<Roster>): Roster | undefined {
  let newest: Roster | undefined;
  for (const roster of rosters) if (roster.number > (newest?.number ?? 0)) newest = roster;
  return newest;
}

function markersOf({ incarnations, past }: Roster): readonly string[] {
  return [...Object.values(incarnations), ...past];
}

/** How many stores that were replaced are remembered. */
const PAST = 20;

/** Returns a roster as the members keep it. */
export function rosterRecord(roster: Roster): LeaseRecord {
  return { ...UNACCEPTED, value: JSON.stringify(roster) };
}

/** Returns the roster that was proposed. @throws {ForeignRecordError} for what is none. */
export function rosterOf({ record }: Proposal): Roster {
  let roster: Partial<Roster> | null = null;
  try {
    roster = JSON.parse(record.value ?? "null") as Partial<Roster> | null;
  } catch {
    // As what is no roster.
  }
  const { number, incarnations, later, past } = roster ?? {};
  if (Number.isSafeInteger(number) && typeof incarnations === "object" && Array.isArray(later) && Array.isArray(past)) {
    return roster as Roster;
  }
  throw new ForeignRecordError(ROSTER, "the list of the quorum's members", "it is not valid");
}

/** Which stores' answers count, by who they are; what they keep of an election decides besides. */
export interface Admission {
  /** What each write says of the members. */
  readonly roster: Roster;
  /** Returns what a member keeps, and finds out who its store is, where that is not known, or not proven by what it keeps. */
  meet(name: string, kept: Promise<Kept>, limits: MemberLimits): Promise<Kept>;
  /** Takes over the roster of this number, or a later one. */
  follow(number: number, limits: CallLimits): Promise<void>;
  /**
   * Of some answers, those that count.
   * @param answers of members that have not forgotten. @param all with those that have, or whose store is another one by now.
   * @param ballot that all of these have promised just now, who counted before.
   */
  counting(
    answers: ReadonlyMap<string, Kept>,
    all: ReadonlyMap<string, Kept>,
    ballot: Ballot | undefined,
  ): ReadonlyMap<string, Kept>;
  /** Why a member that has answered does not count, in a sentence, where it is for whose store it is. */
  whyAbsent(name: string): string | undefined;
  /** Takes in whether a member counts for an election: `why` not, in a sentence, or undefined. A silent one has not answered. */
  report(name: string, election: string, why: string | undefined, isSilent: boolean): void;
  /** Whether a member may be given a proposal though what it keeps does not count. */
  mayTakeBack(name: string, proposal: Proposal): boolean;
}
