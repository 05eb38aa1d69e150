/** One check: the protocol as it is, or with one rule broken, and the expected result of the search. */
export interface Check {
  readonly name: string;
  /** The main file of the model, below this folder and without its extension. @defaultValue the record protocol */
  readonly model?: Model | undefined;
  /** The macros that the model is compiled with. */
  readonly macros: readonly string[];
  /** The claim that the search must find violated; absent if every claim must hold in every state. */
  readonly violates?: string | undefined;
  /** The situations that the search must meet. Without them, a claim could hold because too little happens. */
  readonly shows?: readonly string[] | undefined;
  /** The run that was found is printed. */
  readonly tells?: boolean | undefined;
}

export type Model =
  | "lease"
  | "quorum/quorum"
  | "quorum/members"
  | "quorum/ages"
  | "voting/voting"
  | "voting/servers"
  | "fleet/fleet";

export const TWO_VALID = "two candidates are valid at once";
