import { isLeaseholdError } from "@leasehold/core";
import { Failure } from "./failure.ts";

/** The exit codes of the command. `run` ends with its child's own otherwise. Those from 64 on are named in sysexits.h. */
export const EXIT = {
  done: 0,
  /** `status`: nobody leads. */
  nobodyLeads: 3,
  /** `status`: a look alone cannot tell whether anybody leads. */
  unknown: 4,
  /** The command line cannot be understood. */
  usage: 64,
  /** The store cannot be reached, or refuses. */
  store: 69,
  /** Leadership ended, and neither the child nor a signal asked for it; or something broke that never should. */
  leadershipEnded: 70,
  /** The results cannot be written. */
  output: 74,
  /** Not elected in time, or an order that did not come about; trying again later may help. */
  notElected: 75,
  /** A store, a name or a duration that cannot work, or a package that is not installed. */
  configuration: 78,
  /** The program was found, and cannot be executed. */
  notExecutable: 126,
  /** The program was not found. */
  notFound: 127,
} as const;

/** Returns the exit code that tells a supervisor what an error means. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Failure) return error.exitCode;
  if (!isLeaseholdError(error)) return EXIT.leadershipEnded;
  switch (error.code) {
    case "CONFIGURATION":
    case "UNSUPPORTED":
    case "FOREIGN_RECORD":
      return EXIT.configuration;
    case "PAUSED":
      return EXIT.notElected;
    case "TERM_REGRESSED":
      return EXIT.store;
    default:
      return error.code.startsWith("STORE_") ? EXIT.store : EXIT.leadershipEnded;
  }
}
