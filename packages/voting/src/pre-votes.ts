import { type Clock, sleep } from "@leasehold/core/provider";
import type { Elect } from "./messages.ts";

/** With more pre-votes than this, the expired ones are removed. */
const MOST_ELECTIONS = 1_000;
/** The longest hold, and the longest time for which a pre-vote counts. No claim counts votes for longer. */
const LONGEST_PRE_VOTE_MS = 10_000;

interface Trial {
  readonly elect: Elect;
  readonly from: string;
}

/** The held trials of one election. The best one is granted when the hold ends. */
interface Choice {
  readonly trials: Trial[];
  /** The `termId` of the best trial; undefined if another server's claim may be under way by then. */
  readonly granted: Promise<string | undefined>;
}

/** The last claim that this voter has voted for, or whose trial it has granted. */
interface PreVote {
  readonly from: string;
  readonly termId: string;
  readonly untilMs: number;
}

/**
 * A voter's preference among candidates. It delays a candidate, and never excludes one. The voter holds its answers to trials for
 * a moment, so that it can choose among several. It grants the best one: the latest LEAD heard, then the leader of that term,
 * then the first server name. A claim with `hasFailed` comes after all others. All of this is part of the trials, so voters that
 * receive the same trials prefer the same one.
 *
 * While a granted claim may be under way, the voter grants no other trial. Two majorities have a voter in common, so claims do
 * not take each other's votes. The preference is not on the disk, and safety does not depend on it.
 */
export class PreVotes {
  readonly #clock: Clock;
  readonly #choices = new Map<string, Choice>();
  readonly #preVotes = new Map<string, PreVote>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Resolves after the hold, and says whether the trial is granted.
   * @param knownTerm the term of the last leader that this voter knows. The server of that leader alone is answered without a
   * hold.
   */
  async grants(elect: Elect, from: string, knownTerm: number): Promise<boolean> {
    const { election } = elect;
    if (this.waitMs(election, from) > 0) return false;
    const held = this.#choices.get(election);
    held?.trials.push({ elect, from });
    const { granted } = held ?? this.#hold({ elect, from }, knownTerm);
    return (await granted) === elect.termId;
  }

  /**
   * Records that the voter has voted for a claim, or granted its trial. It then grants no other trial for the claim's `claimMs`.
   */
  voted({ election, termId, claimMs }: Elect, from: string): void {
    const untilMs = this.#clock.monotonicMs() + Math.min(claimMs, LONGEST_PRE_VOTE_MS);
    this.#preVotes.delete(election);
    this.#preVotes.set(election, { from, termId, untilMs });
    if (this.#preVotes.size <= MOST_ELECTIONS) return;
    for (const name of this.#preVotes.keys()) if (this.waitMs(name) <= 0) this.#preVotes.delete(name);
  }

  /** Records that a claimant has given its claim up. */
  withdrawn(election: string, from: string): void {
    if (this.#preVotes.get(election)?.from === from) this.#preVotes.delete(election);
  }

  /** Records that the claim is over, because the LEAD or the RELEASE of its leader has arrived. */
  ended(election: string): void {
    this.#preVotes.delete(election);
  }

  /** The time for which trials of `from` are refused, because another server's claim may be under way. */
  waitMs(election: string, from?: string): number {
    const preVote = this.#preVotes.get(election);
    if (!preVote || preVote.from === from) return 0;
    return Math.max(preVote.untilMs - this.#clock.monotonicMs(), 0);
  }

  #hold(first: Trial, knownTerm: number): Choice {
    const { election, hasFailed, hasLed, heard, holdMs } = first.elect;
    const trials = [first];
    const isOldLeader = hasLed && !hasFailed && heard.term >= knownTerm;
    const choose = async (): Promise<string | undefined> => {
      await (isOldLeader ? undefined : sleep(this.#clock, Math.min(holdMs, LONGEST_PRE_VOTE_MS)));
      this.#choices.delete(election);
      const { elect, from } = trials.toSorted(compare)[0] ?? first;
      if (this.waitMs(election, from) > 0) return undefined;
      this.voted(elect, from);
      return elect.termId;
    };
    const choice = { trials, granted: choose() };
    this.#choices.set(election, choice);
    return choice;
  }
}

/** Returns a negative number if `one` is preferred. */
function compare(one: Trial, other: Trial): number {
  const [mine, others] = [rankOf(one), rankOf(other)];
  const at = mine.findIndex((value, index) => value !== others[index]);
  if (at >= 0) return (mine[at] ?? 0) - (others[at] ?? 0);
  return one.from < other.from ? -1 : 1;
}

function rankOf({ elect: { hasFailed, hasLed, heard } }: Trial): readonly number[] {
  return [hasFailed ? 1 : 0, -heard.term, -heard.number, hasLed ? 0 : 1];
}
