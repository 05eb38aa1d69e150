/** One check: the protocol as it is, or with one rule broken, and what the search has to find. */
export interface Check {
  readonly name: string;
  /** The main file of the model, below this folder. @defaultValue the record protocol */
  readonly model?: Model | undefined;
  /** Macros of the model. */
  readonly macros: readonly string[];
  /** The claim that has to be found violated; absent where every claim has to hold in every state. */
  readonly violates?: string | undefined;
  /** The situations that have to be met on the way, so that a claim that holds says something. */
  readonly shows?: readonly string[] | undefined;
  /** The run that was found is printed. */
  readonly tells?: boolean | undefined;
}

export type Model = "lease" | "quorum/quorum" | "quorum/members" | "quorum/ages" | "voting/voting" | "voting/servers";

export const TWO_VALID = "two candidates are valid at once";
