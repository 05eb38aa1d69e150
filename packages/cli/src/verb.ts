import type { Command } from "commander";
import type { ProcessEnvironment } from "./process-environment.ts";

/** One verb of the command. Each file in `verbs/` exports one as `verb`. */
export interface Verb {
  /** Adds the verb's arguments and options. */
  define(command: Command): void;
  /** Runs the verb and returns its exit code. A thrown error is printed to stderr and mapped to an exit code. */
  act(command: Command, environment: ProcessEnvironment): Promise<number>;
}
