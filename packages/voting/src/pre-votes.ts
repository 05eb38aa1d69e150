import type { Clock } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import type { Elect } from "./messages.ts";

/** The number of elections whose pre-votes are kept before those that are over are let go. */
const MOST_ELECTIONS = 1_000;
/** No claim counts votes for longer, so no pre-vote stands for longer. */
const LONGEST_PRE_VOTE_MS = 10_000;

interface Trial {
  readonly elect: Elect;
  readonly from: string;
}

/** The trials of one election whose answers are held; in the end the best one is granted. */
interface Choice {
  readonly trials: Trial[];
  /** The termId of the best one; undefined where this voter has voted for another claim meanwhile. */
  readonly granted: Promise<string | undefined>;
}

/** The claim that a voter has granted a trial or voted for last. */
interface PreVote {
  readonly from: string;
  readonly termId: string;
  readonly untilMs: number;
}

/**
 * The preference of a voter, which is a delay and never a veto. Answers to trials are held for a moment, so that there is
 * something to choose among. The best one is granted: the latest LEAD heard, then the leader of that term, then the name. A claim
 * whose server's last one has failed comes after all others. All of it stands in the trials, so that voters that have received the
 * same ones prefer the same one. While a granted claim may be under way, no other one is granted: two majorities have a voter in
 * common, so that claims do not take each other's votes. Nothing of it is on the disk, and no safety rests on it.
 */
export class PreVotes {
  readonly #clock: Clock;
  readonly #choices = new Map<string, Choice>();
  readonly #preVotes = new Map<string, PreVote>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Resolves with whether a trial is granted, after its hold.
   * @param knownTerm the term of the last leader that this voter has heard. Only its server is answered without a hold.
   */
  async grants(elect: Elect, from: string, knownTerm: number): Promise<boolean> {
    const { election } = elect;
    if (this.waitMs(election, from) > 0) return false;
    const held = this.#choices.get(election);
    held?.trials.push({ elect, from });
    const { granted } = held ?? this.#hold({ elect, from }, knownTerm);
    return (await granted) === elect.termId;
  }

  /** The voter has voted for a claim, or granted its trial: no other one is granted for the time that the claim names. */
  voted({ election, termId, claimMs }: Elect, from: string): void {
    const untilMs = this.#clock.monotonicMs() + Math.min(claimMs, LONGEST_PRE_VOTE_MS);
    this.#preVotes.delete(election);
    this.#preVotes.set(election, { from, termId, untilMs });
    if (this.#preVotes.size <= MOST_ELECTIONS) return;
    for (const name of this.#preVotes.keys()) if (this.waitMs(name) <= 0) this.#preVotes.delete(name);
  }

  /** A claimant gives up. */
  withdrawn(election: string, from: string): void {
    if (this.#preVotes.get(election)?.from === from) this.#preVotes.delete(election);
  }

  /** The claim is over, since its leader was heard or has released. */
  ended(election: string): void {
    this.#preVotes.delete(election);
  }

  /** The time for which trials of a server are refused, because another one's claim may be under way. */
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
      await (isOldLeader ? undefined : sleep(this.#clock, holdMs));
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

/** Below zero where `one` is preferred. */
function compare(one: Trial, other: Trial): number {
  const [mine, others] = [rankOf(one), rankOf(other)];
  const at = mine.findIndex((value, index) => value !== others[index]);
  if (at >= 0) return (mine[at] ?? 0) - (others[at] ?? 0);
  return one.from < other.from ? -1 : 1;
}

function rankOf({ elect: { hasFailed, hasLed, heard } }: Trial): readonly number[] {
  return [hasFailed ? 1 : 0, -heard.term, -heard.number, hasLed ? 0 : 1];
}
