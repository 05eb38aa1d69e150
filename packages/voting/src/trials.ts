import type { Clock } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import type { Elect, Heard } from "./messages.ts";

/** More are let go: they only tell whom to prefer. */
const MOST_CHOICES = 1_000;

interface Trial {
  readonly from: string;
  readonly heard: Heard;
  readonly isLastLeader: boolean;
}

/** The trials of one election whose answers are held, and whom a trial was granted to without its leading since. */
interface Choice {
  readonly trials: Trial[];
  held: Promise<unknown> | undefined;
  best: string | undefined;
  passedOver: string | undefined;
}

/**
 * Whom a voter prefers: the old leader, if it claims; else the claim whose server has heard the latest LEAD; else the first in
 * the list. A preferred claim that has not led since comes last. Answers to trials are held for a moment, so that there is
 * something to choose among; never the old leader's.
 */
export class Trials {
  readonly #clock: Clock;
  readonly #names: readonly string[];
  readonly #choices = new Map<string, Choice>();

  constructor(clock: Clock, names: readonly string[]) {
    this.#clock = clock;
    this.#names = names;
  }

  async isPreferred({ election, heard, holdMs }: Elect, from: string, lastLeader: string | undefined): Promise<boolean> {
    const choice = this.#choices.get(election) ?? { trials: [], held: undefined, best: undefined, passedOver: undefined };
    this.#choices.set(election, choice);
    choice.trials.push({ from, heard, isLastLeader: from === lastLeader });
    if (this.#choices.size > MOST_CHOICES) this.#choices.delete(this.#choices.keys().next().value ?? "");
    choice.held ??= this.#choose(choice, holdMs);
    await choice.held;
    return choice.best === from;
  }

  /** It leads: whatever it was passed over for is forgotten. */
  leads(election: string): void {
    const choice = this.#choices.get(election);
    if (choice && !choice.held) this.#choices.delete(election);
    else if (choice) choice.passedOver = undefined;
  }

  async #choose(choice: Choice, holdMs: number): Promise<void> {
    const isAloneEnough = (): boolean =>
      choice.trials.some(({ isLastLeader, from }) => isLastLeader && from !== choice.passedOver);
    // Never at once: whoever calls has to know first that there is a choice to be made.
    await (isAloneEnough() ? undefined : sleep(this.#clock, holdMs));
    const ranked = choice.trials.toSorted((one, other) => this.#compare(one, other, choice.passedOver));
    choice.best = ranked[0]?.from;
    choice.passedOver = choice.best;
    choice.trials.length = 0;
    choice.held = undefined;
  }

  /** Below zero where `one` is preferred. */
  #compare(one: Trial, other: Trial, passedOver: string | undefined): number {
    const rank = ({ from, isLastLeader, heard }: Trial): readonly number[] => [
      from === passedOver ? 1 : 0,
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
