import type { Elect } from "./messages.ts";
import { LONGEST_CLAIM_MS } from "./startup-recovery.ts";

/** With more pre-votes than this, the expired ones are removed. */
const MOST_ELECTIONS = 1_000;

interface Trial {
  readonly elect: Elect;
  readonly from: string;
}

/** The held trials of one election. The best one is granted when the hold ends. */
export interface Choice {
  /** The end of the hold. */
  readonly untilMs: number;
  readonly trials: Trial[];
  isMade: boolean;
  /** The `termId` of the best trial, once the choice is made; undefined if another server's claim may be under way by then. */
  granted?: string | undefined;
}

interface PreVote {
  readonly from: string;
  readonly termId: string;
  readonly untilMs: number;
}

/**
 * A voter's preference among candidates. It delays a candidate, and never excludes one. The voter holds its answers to trials for
 * a moment, and grants the best trial. The latest LEAD heard is best, then the leader of that term, then the first server name. A
 * claim with `hasFailed` comes last. All of this is part of the trials, so voters that receive the same trials agree.
 *
 * While a granted claim may be under way, the voter grants no other trial. Two majorities have a voter in common, so claims do
 * not take each other's votes. The preference is not on the disk, and safety does not depend on it.
 *
 * It has no timer: the caller passes the time of a monotonic clock, and asks again when the hold ends.
 */
export class PreVotes {
  readonly #choices = new Map<string, Choice>();
  readonly #preVotes = new Map<string, PreVote>();

  /**
   * Holds the answer to a trial, and returns the choice that it is part of. Undefined if another server's claim may be under way.
   * @param knownTerm the term of the last leader that this voter knows. The server of that leader alone is answered without a
   * hold.
   */
  hold(elect: Elect, from: string, knownTerm: number, nowMs: number): Choice | undefined {
    const { election, hasFailed, hasLed, heard, holdMs } = elect;
    if (this.waitMs(election, nowMs, from) > 0) return undefined;
    const held = this.#choices.get(election);
    held?.trials.push({ elect, from });
    if (held) return held;
    const isOldLeader = hasLed && !hasFailed && heard.term >= knownTerm;
    const untilMs = nowMs + (isOldLeader ? 0 : Math.min(holdMs, LONGEST_CLAIM_MS));
    const choice = { untilMs, trials: [{ elect, from }], isMade: false };
    this.#choices.set(election, choice);
    return choice;
  }

  /** Reports whether a held trial is granted. Call it when the hold has ended. The first call makes the choice. */
  grants(choice: Choice, { election, termId }: Elect, nowMs: number): boolean {
    if (!choice.isMade) {
      choice.isMade = true;
      this.#choices.delete(election);
      const [best] = choice.trials.toSorted(compare);
      if (best && this.waitMs(election, nowMs, best.from) <= 0) {
        this.voted(best.elect, best.from, nowMs);
        choice.granted = best.elect.termId;
      }
    }
    return choice.granted === termId;
  }

  /** Records that the voter has voted for a claim, or granted its trial. It grants no other trial for the claim's `claimMs`. */
  voted({ election, termId, claimMs }: Elect, from: string, nowMs: number): void {
    const untilMs = nowMs + Math.min(claimMs, LONGEST_CLAIM_MS);
    this.#preVotes.delete(election);
    this.#preVotes.set(election, { from, termId, untilMs });
    if (this.#preVotes.size <= MOST_ELECTIONS) return;
    for (const name of this.#preVotes.keys()) if (this.waitMs(name, nowMs) <= 0) this.#preVotes.delete(name);
  }

  /** Records that a leader's LEAD or RELEASE has arrived, so the claim is over; or that `from` has given its own claim up. */
  ended(election: string, from?: string): void {
    if (from === undefined || this.#preVotes.get(election)?.from === from) this.#preVotes.delete(election);
  }

  /** The time for which trials of `from` are refused, because another server's claim may be under way. */
  waitMs(election: string, nowMs: number, from?: string): number {
    const preVote = this.#preVotes.get(election);
    if (!preVote || preVote.from === from) return 0;
    return Math.max(preVote.untilMs - nowMs, 0);
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
