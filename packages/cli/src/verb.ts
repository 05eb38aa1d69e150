import type { Command } from "commander";
import type { Surroundings } from "./surroundings.ts";

/** One verb of the command: what a file in `verbs/` exports as `verb`. */
export interface Verb {
  /** Adds its arguments and options. */
  define(command: Command): void;
  /** Does it, and returns the exit code. What it throws becomes a line on stderr, and the code that fits. */
  act(command: Command, surroundings: Surroundings): Promise<number>;
}
