import type { Need } from "./need.ts";
import type { Scenario } from "./scenario.ts";

/** One behaviour that every store must show. */
export interface CaseInfo {
  /** Stable, in kebab-case. */
  readonly id: string;
  /** The behaviour, as a sentence. */
  readonly title: string;
  readonly needs?: readonly Need[] | undefined;
}

/** A case that can be run. */
export interface Case extends CaseInfo {
  /** Rejects if the store does not behave. */
  readonly run: (scene: Scenario) => Promise<void>;
}
