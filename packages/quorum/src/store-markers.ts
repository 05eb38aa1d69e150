import type { Clock } from "@leasehold/core/provider";
import type { CallLimits } from "./call-limits.ts";
import { LatestReads } from "./latest-reads.ts";
import { NOTHING, UNACCEPTED, type MemberState } from "./member-state.ts";
import type { Member, MemberLimits } from "./member.ts";
import { MARKER, ROSTER, rosterOf, type Roster } from "./roster.ts";

/** Reads and writes the markers of the members' stores, and keeps what each store has shown last. */
export class StoreMarkers {
  /** The marker that each store showed last; null if it has none. */
  readonly shown: LatestReads<string | null> = new LatestReads();
  /** The roster that each store showed last. */
  readonly rosters: LatestReads<Roster> = new LatestReads();
  readonly #members: ReadonlyMap<string, Member>;
  readonly #clock: Clock;
  /** The roster that the markers' records name. */
  readonly #nobody: Roster;

  constructor(members: ReadonlyMap<string, Member>, clock: Clock, nobody: Roster) {
    this.#members = members;
    this.#clock = clock;
    this.#nobody = nobody;
  }

  /** Returns the number of the roster that a store showed last; 0 if it showed none. */
  rosterNumber(name: string): number {
    return this.rosters.get(name)?.number ?? 0;
  }

  /** Returns the members that have never answered. */
  silent(): readonly string[] {
    return [...this.#members.keys()].filter((name) => this.shown.get(name) === undefined);
  }

  /**
   * Returns a store's marker, and writes one if it has none. A marker only replaces a blank record, never a missing one.
   * Otherwise a late duplicate of the write could mark a store that was emptied since. The emptied store would pass for the
   * former one.
   */
  async mark(name: string, { memberMs: timeoutMs, signal }: CallLimits): Promise<string> {
    const member = this.#members.get(name) as Member;
    const limits = { timeoutMs, signal };
    for (;;) {
      const kept = await this.lookAt(name, limits);
      if (kept.proposal) return kept.proposal.write;
      const write = { state: NOTHING, present: kept, roster: this.#nobody };
      const blank = kept.version === undefined ? await member.put(MARKER, write, limits) : kept;
      if (blank) await this.writeMarker(name, blank, { memberMs: timeoutMs, signal });
    }
  }

  /** Gives a store a new marker, in place of its present record. */
  async writeMarker(
    name: string,
    present: MemberState,
    { memberMs, signal }: Pick<CallLimits, "memberMs" | "signal">,
  ): Promise<void> {
    const incarnation = this.#clock.randomUuid();
    const ballot = { round: 1, proposer: incarnation };
    const proposal = { write: incarnation, base: null, record: UNACCEPTED };
    const state = { promised: ballot, accepted: ballot, proposal, seen: {} };
    const member = this.#members.get(name) as Member;
    await member.put(MARKER, { state, present, roster: this.#nobody }, { timeoutMs: memberMs, signal });
  }

  /** Reads a member's marker and its copy of the roster. Returns the state of the marker's record. */
  async lookAt(name: string, limits: MemberLimits): Promise<MemberState> {
    const roster = this.noteRoster(name, (this.#members.get(name) as Member).get(ROSTER, true, limits));
    return (await Promise.all([this.lookAtMarker(name, limits), roster]))[0];
  }

  async lookAtMarker(name: string, limits: MemberLimits): Promise<MemberState> {
    const note = this.shown.begin(name);
    const kept = await (this.#members.get(name) as Member).get(MARKER, true, limits);
    note(kept.proposal?.write ?? null);
    return kept;
  }

  /** Records the roster in an answer. @param answer the answer to a request that was sent just now. */
  async noteRoster(name: string, answer: Promise<MemberState>): Promise<MemberState> {
    const note = this.rosters.begin(name);
    const kept = await answer;
    note(kept.proposal && rosterOf(kept.proposal));
    return kept;
  }
}
