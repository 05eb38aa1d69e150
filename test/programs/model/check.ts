/** One check: the protocol as it is, or with one rule broken, and what the search has to find. */
export interface Check {
  readonly name: string;
  /** The folder of the model, whose main file has the same name. @defaultValue the record protocol, in this folder */
  readonly model?: "quorum" | "voting" | undefined;
  /** Macros of the model. */
  readonly macros: readonly string[];
  /** The claim that has to be found violated; absent where every claim has to hold in every state. */
  readonly violates?: string | undefined;
  /** The situations that have to be met on the way, so that a claim that holds says something. */
  readonly shows?: readonly string[] | undefined;
  /** The run that was found is printed. */
  readonly tells?: boolean | undefined;
}

export const TWO_VALID = "two candidates are valid at once";
