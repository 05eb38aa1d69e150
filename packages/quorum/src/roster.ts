import { ForeignRecordError, type LeaseRecord } from "@leasehold/core/provider";
import type { CallLimits } from "./call-limits.ts";
import { UNACCEPTED, type MemberState, type Proposal } from "./member-state.ts";
import type { MemberLimits } from "./member.ts";

/** The record that says which stores are the members. No election may have this name. */
export const ROSTER = "leasehold-quorum-members";
/** The record that identifies each store. No election may have this name. */
export const MARKER = "leasehold-quorum-marker";

/** The stores that are the members of a quorum. */
export interface Roster {
  /**
   * Rises with every change. 0: a claim, with which a quorum begins. A claim names the stores, and is chosen once all of them
   * have it.
   */
  readonly number: number;
  /** The marker of each member's store, by name. */
  readonly incarnations: Readonly<Record<string, string>>;
  /**
   * The members whose store has replaced another one. Such a store may lack a record that the former store had. In a claim: the
   * members of which this claim, or one before it, has replaced the store that another claim names.
   */
  readonly later: readonly string[];
  /** The markers of the stores that were replaced last. Such a marker never counts again. */
  readonly past: readonly string[];
}

/** Returns a roster in which one member has another store. */
export function replaced(roster: Roster, name: string, incarnation: string): Roster {
  const { number, incarnations, later, past } = roster;
  return {
    number: number + 1,
    incarnations: { ...incarnations, [name]: incarnation },
    later: [...new Set([...later, name])],
    past: [...past, incarnations[name] as string].slice(-PAST),
  };
}

/** Reports whether two rosters can be of one quorum: they share the marker of a present or a former member. */
export function areRelated(one: Roster, other: Roster): boolean {
  const markers = new Set(markersOf(one));
  return markersOf(other).some((marker) => markers.has(marker));
}

/** Returns the roster with the highest number. */
export function newestOf(rosters: Iterable<Roster>): Roster | undefined {
  let newest: Roster | undefined;
  for (const roster of rosters) if (roster.number > (newest?.number ?? -1)) newest = roster;
  return newest;
}

function markersOf({ incarnations, past }: Roster): readonly string[] {
  return [...Object.values(incarnations), ...past];
}

/** The number of replaced stores that a roster remembers. */
const PAST = 20;

/** Returns the record in which the members keep a roster. */
export function rosterRecord(roster: Roster): LeaseRecord {
  return { ...UNACCEPTED, value: JSON.stringify(roster) };
}

/** Returns the roster of a proposal. @throws {ForeignRecordError} if its record is not a roster. */
export function rosterOf({ record }: Proposal): Roster {
  let roster: Partial<Roster> | null = null;
  try {
    roster = JSON.parse(record.value ?? "null") as Partial<Roster> | null;
  } catch {
    // Invalid JSON is refused below, like any other text that is not a roster.
  }
  const { number, incarnations, later, past } = roster ?? {};
  if (Number.isSafeInteger(number) && typeof incarnations === "object" && Array.isArray(later) && Array.isArray(past)) {
    return roster as Roster;
  }
  throw new ForeignRecordError(ROSTER, "the list of the quorum's members", "it is not valid");
}

/** Decides by a store's identity whether its answers count. Lost promises are checked separately. */
export interface MembershipRules {
  /** The roster that each write names. */
  readonly roster: Roster;
  /** Returns the state that a member keeps. Identifies the member's store if it is unknown, or if the state does not prove it. */
  meet(name: string, kept: Promise<MemberState>, limits: MemberLimits): Promise<MemberState>;
  /** Adopts the roster of this number, or a later one. */
  follow(number: number, limits: CallLimits): Promise<void>;
  /**
   * Returns the answers that count.
   * @param answers the answers of members that have not forgotten.
   * @param all all answers, also of members that have forgotten, or that have another store by now.
   * @param havePromised true if all these members have promised a new ballot since they gave these answers.
   */
  counting(
    answers: ReadonlyMap<string, MemberState>,
    all: ReadonlyMap<string, MemberState>,
    havePromised: boolean,
  ): ReadonlyMap<string, MemberState>;
  /**
   * Returns why a member that has answered does not count, as a sentence, if its store is the reason. Given its `answer`, also
   * explains a store that replaced another one, where nobody needs to act.
   */
  whyAbsent(name: string, answer?: MemberState): string | undefined;
  /**
   * Records whether a member counts for an election. `why` is a sentence, or undefined if the member counts. `isSilent`: the
   * member has not answered.
   */
  report(name: string, election: string, why: string | undefined, isSilent: boolean): void;
  /** Returns how many members have to accept a proposal, so that it is chosen. */
  needed(proposal: Proposal | undefined): number;
  /** Reports whether a proposal is a claim that is never repeated, because a claim of this process's stores may replace it. */
  isGivenUp(proposal: Proposal | undefined): boolean;
  /** Reports whether a member may receive a proposal although its state does not count. */
  mayTakeBack(name: string, proposal: Proposal): boolean;
}
