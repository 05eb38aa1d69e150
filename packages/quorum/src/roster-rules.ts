import { compareBallots } from "./ballot.ts";
import { topOf } from "./chosen.ts";
import type { MemberState } from "./member-state.ts";
import { newestOf, rosterOf, type MembershipRules, type Roster } from "./roster.ts";
import type { StoreMarkers } from "./store-markers.ts";

/**
 * Returns the rules for the roster itself. A store counts if the newest shown roster names it.
 *
 * All members have to accept a claim, and then to promise the first roster. Otherwise two processes with different stores under
 * one name would each have a majority, even if a member of both promises to both. A member that has accepted a claim shows it.
 *
 * All members count, whatever each has accepted, if three conditions hold. All answer. The newest proposal is no roster. Of the
 * core of each shown claim or roster, a majority is among these stores and remembers. The core consists of the stores that the
 * claim and all claims before it name. The promises of a majority of the core prevent the choice of any older roster. Without
 * the core, a first roster that one member has accepted could be completed by stores that only an older claim names.
 *
 * A promise of a replaced store blocks nothing. If it has accepted a proposal with a majority, one of the other members shows
 * that proposal.
 *
 * A store that has accepted no roster counts in two cases: all members answer, or it has promised the newest shown ballot. If the
 * store has promised another ballot, that ballot's proposal may be chosen already, by a majority of other stores under these
 * names.
 *
 * A store that has forgotten counts if all members answer, and a majority of them remembers, and has accepted no roster. In this
 * case no roster was ever chosen. Without this rule, a new quorum would never begin if only that store has accepted a roster.
 */
export function rosterRules(options: {
  readonly markers: StoreMarkers;
  /** Writes name this roster before there is a first one. */
  readonly nobody: Roster;
  readonly members: number;
  readonly whyAbsent: MembershipRules["whyAbsent"];
}): MembershipRules {
  const { markers, nobody, members, whyAbsent } = options;
  /** Returns the members whose present stores a roster or a claim names. */
  const sharedWith = ({ incarnations }: Roster): readonly string[] =>
    Object.keys(incarnations).filter((name) => markers.shown.get(name) === incarnations[name]);
  /** Returns the members whose present stores are in the core of a roster or a claim. */
  const coreWith = (roster: Roster): readonly string[] => sharedWith(roster).filter((name) => !roster.later.includes(name));
  return {
    roster: nobody,
    meet: async (name, answer, limits) => {
      return (await Promise.all([markers.noteRoster(name, answer), markers.lookAtMarker(name, limits)]))[0];
    },
    follow: () => Promise.resolve(),
    whyAbsent,
    // Does nothing, because the rounds of each election report the same more often.
    report: () => undefined,
    counting: (answers, all, havePromised) => {
      const isAll = all.size === members;
      const among = (found: ReadonlyMap<string, MemberState>): ReadonlyMap<string, MemberState> => {
        const states = [...found.values()];
        const newest = newestShown(found);
        if (!newest) return havePromised || states.some(({ promised }) => promised) ? new Map() : found;
        const top = topOf(found)?.accepted;
        return new Map(
          [...found].filter(([name, { accepted, promised }]) => {
            const mayCount = accepted !== undefined || isAll || (promised && compareBallots(promised, top) === 0);
            return mayCount && sharedWith(newest).includes(name);
          }),
        );
      };
      const counted = among(answers);
      if (!isAll) return counted;
      const isFree = ({ proposal }: MemberState): boolean =>
        !proposal || coreWith(rosterOf(proposal)).filter((name) => answers.has(name)).length > members / 2;
      const isRosterNewest = (newestShown(all)?.number ?? 0) > 0;
      if (!isRosterNewest) return [...all.values()].every(isFree) ? all : counted;
      const isOfClaim = newestShown(counted)?.number === 0;
      if (counted.size > members / 2 ? !isOfClaim : acceptedNone(answers) < members / 2) return counted;
      const everyone = among(all);
      return everyone.size === members ? everyone : counted;
    },
    needed: (proposal) => (proposal && rosterOf(proposal).number === 0 ? members : (members + 1) / 2),
    isGivenUp: (proposal) => {
      const roster = proposal && rosterOf(proposal);
      if (roster?.number !== 0) return false;
      return coreWith(roster).length > members / 2 && sharedWith(roster).length < members;
    },
    mayTakeBack: (name, proposal) => sharedWith(rosterOf(proposal)).includes(name),
  };
}

/** Returns the newest roster that these states show. If a claim has a higher ballot than a roster, that roster was not chosen. */
function newestShown(states: ReadonlyMap<string, MemberState>): Roster | undefined {
  const shown = [...states.values()].flatMap(({ proposal }) => (proposal ? [rosterOf(proposal)] : []));
  const top = topOf(states)?.proposal;
  return top && rosterOf(top).number === 0 ? rosterOf(top) : newestOf(shown);
}

/** The number of members that have accepted nothing. */
function acceptedNone(states: ReadonlyMap<string, MemberState>): number {
  return [...states.values()].filter(({ accepted }) => !accepted).length;
}
