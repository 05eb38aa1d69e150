import type { Clock } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import type { Elect } from "./messages.ts";

interface Trial extends Pick<Elect, "heard" | "hasFailed"> {
  readonly from: string;
  readonly isLastLeader: boolean;
}

/** The trials of one election whose answers are held; in the end one of them is the best. */
interface Choice {
  readonly trials: Trial[];
  readonly best: Promise<string | undefined>;
}

/**
 * Whom a voter prefers: the old leader, if it claims; else the claim whose server has heard the latest LEAD; else the first in
 * the list. A claim whose server's last one has failed comes after all others. Answers to trials are held for a moment, so
 * that there is something to choose among; never the old leader's. Nothing else is remembered: voters that have received the
 * same trials prefer the same one, or they would go on splitting their votes.
 */
export class Trials {
  readonly #clock: Clock;
  readonly #names: readonly string[];
  readonly #choices = new Map<string, Choice>();

  constructor(clock: Clock, names: readonly string[]) {
    this.#clock = clock;
    this.#names = names;
  }

  async isPreferred(elect: Elect, from: string, lastLeader: string | undefined): Promise<boolean> {
    const { election, heard, hasFailed, holdMs } = elect;
    const trial = { from, heard, hasFailed, isLastLeader: from === lastLeader };
    const held = this.#choices.get(election);
    held?.trials.push(trial);
    const { best } = held ?? this.#hold(election, trial, holdMs);
    return (await best) === from;
  }

  #hold(election: string, first: Trial, holdMs: number): Choice {
    const trials = [first];
    const isAloneEnough = first.isLastLeader && !first.hasFailed;
    const choose = async (): Promise<string | undefined> => {
      await (isAloneEnough ? undefined : sleep(this.#clock, holdMs));
      this.#choices.delete(election);
      return trials.toSorted((one, other) => this.#compare(one, other))[0]?.from;
    };
    const choice = { trials, best: choose() };
    this.#choices.set(election, choice);
    return choice;
  }

  /** Below zero where `one` is preferred. */
  #compare(one: Trial, other: Trial): number {
    const rank = ({ from, isLastLeader, heard, hasFailed }: Trial): readonly number[] => [
      hasFailed ? 1 : 0,
      isLastLeader ? 0 : 1,
      -heard.term,
      -heard.number,
      this.#names.indexOf(from),
    ];
    const [mine, others] = [rank(one), rank(other)];
    const at = mine.findIndex((value, index) => value !== others[index]);
    return at < 0 ? 0 : (mine[at] ?? 0) - (others[at] ?? 0);
  }
}
