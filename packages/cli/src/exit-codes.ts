import { isLeaseholdError } from "@leasehold/core";
import { isStoreError } from "@leasehold/core/provider";

/** The exit codes of the command. `run` also ends with its child's exit code. sysexits.h names the codes from 64 to 78. */
export const EXIT = {
  done: 0,
  /** `status`: nobody leads. */
  nobodyLeads: 3,
  /** `status`: one read is not enough to know whether anybody leads. */
  unknown: 4,
  /** The command line cannot be understood. */
  usage: 64,
  /** The store cannot be reached, or refuses a request. */
  store: 69,
  /** Leadership ended before the child did, without a stop signal; or an unexpected error occurred. */
  leadershipEnded: 70,
  /** The results cannot be written. */
  output: 74,
  /** The candidate was not elected in time, or an order had no effect. A later try may succeed. */
  notElected: 75,
  /** A store, a name or a duration is invalid, or a package is not installed. */
  configuration: 78,
  /** The program was found, but cannot be executed. */
  notExecutable: 126,
  /** The program was not found. */
  notFound: 127,
} as const;

/** Returns the exit code that stands for an error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
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
      return isStoreError(error) ? EXIT.store : EXIT.leadershipEnded;
  }
}

/** An error of the command itself, not of the library: one sentence for people, and an exit code for supervisors. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.name = "Failure";
    this.exitCode = exitCode;
  }
}
