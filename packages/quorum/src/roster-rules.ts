import { compareBallots } from "./ballot.ts";
import { topOf } from "./chosen.ts";
import type { MemberState } from "./member-state.ts";
import { newestOf, rosterOf, type MembershipRules, type Roster } from "./roster.ts";
import type { StoreMarkers } from "./store-markers.ts";

/**
 * Returns the rules for the roster itself. Those stores count that the newest shown roster names.
 *
 * All members have to promise the first roster. Otherwise two processes with different stores under one name would each have a
 * majority.
 *
 * A promise that a replaced store has made blocks nothing: one of the others shows what it has accepted with a majority.
 *
 * A store that has accepted no roster counts in two cases: all members answer, or it has promised the newest shown ballot. A
 * proposal for which it promised any other ballot may be chosen already, by a majority of other stores under these names.
 *
 * A store that has forgotten counts if all members answer, and a majority of them remembers that it has accepted no roster. Then
 * none was ever chosen. Without this, a new quorum whose only accepted roster is in that store would never begin.
 */
export function rosterRules(options: {
  readonly markers: StoreMarkers;
  /** The roster that writes name before there is a first one. */
  readonly nobody: Roster;
  readonly members: number;
  readonly whyAbsent: MembershipRules["whyAbsent"];
}): MembershipRules {
  const { markers, nobody, members, whyAbsent } = options;
  return {
    roster: nobody,
    meet: async (name, answer, limits) => {
      return (await Promise.all([markers.noteRoster(name, answer), markers.lookAtMarker(name, limits)]))[0];
    },
    follow: () => Promise.resolve(),
    whyAbsent,
    // Does nothing: the record of each election reports the same, and more often.
    report: () => undefined,
    counting: (answers, all, havePromised) => {
      const isAll = all.size === members;
      if (isAll && acceptedNone(all) === members) return all;
      const among = (found: ReadonlyMap<string, MemberState>): ReadonlyMap<string, MemberState> => {
        const states = [...found.values()];
        const shown = states.flatMap(({ proposal }) => (proposal ? [rosterOf(proposal)] : []));
        const newest = newestOf(shown);
        if (!newest) return havePromised || states.some(({ promised }) => promised) ? new Map() : found;
        const top = topOf(found)?.accepted;
        return new Map(
          [...found].filter(([name, { accepted, promised }]) => {
            const mayCount = accepted !== undefined || isAll || (promised && compareBallots(promised, top) === 0);
            return mayCount && markers.shown.get(name) === newest.incarnations[name];
          }),
        );
      };
      const counted = among(answers);
      if (counted.size > members / 2 || !isAll || acceptedNone(answers) < members / 2) return counted;
      const everyone = among(all);
      return everyone.size === members ? everyone : counted;
    },
    mayTakeBack: (name, proposal) => markers.shown.get(name) === rosterOf(proposal).incarnations[name],
  };
}

/** The number of members that have accepted nothing. */
function acceptedNone(states: ReadonlyMap<string, MemberState>): number {
  return [...states.values()].filter(({ accepted }) => !accepted).length;
}
