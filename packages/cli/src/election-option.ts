import { checkName } from "@leasehold/core/provider";
import type { Command } from "commander";
import { EXIT } from "./exit-codes.ts";
import { CommandError } from "./command-error.ts";
import type { ProcessEnvironment } from "./process-environment.ts";

/** Adds the option `--election`, which names one election. */
export function addElectionOption(command: Command): Command {
  return command.option("--election <name>", "the election (default: LEASEHOLD_ELECTION)");
}

/** Reports whether `--election` or the environment names an election. */
export function namesElection(command: Command, { env }: ProcessEnvironment): boolean {
  return command.opts<{ readonly election?: string }>().election !== undefined || Boolean(env["LEASEHOLD_ELECTION"]);
}

/** Returns the elections that the verb's arguments name, each once. Without arguments it is one, as {@link electionOf} returns. */
export function electionsOf(command: Command, environment: ProcessEnvironment, names: readonly string[]): readonly string[] {
  const given = names.length === 0 ? [undefined] : names;
  return [...new Set(given.map((name) => electionOf(command, environment, name)))];
}

/**
 * Returns the election that the verb's argument, `--election` or the environment names.
 * @throws {CommandError} if none of these names one, or if two of them do. {ConfigurationError} for an invalid name.
 */
export function electionOf(command: Command, { env }: ProcessEnvironment, argument?: string): string {
  const { election: option } = command.opts<{ readonly election?: string }>();
  if (argument !== undefined && option !== undefined) {
    throw new CommandError(EXIT.usage, `two elections are named, '${argument}' and --election '${option}'; give one of them.`);
  }
  const election = argument ?? option ?? env["LEASEHOLD_ELECTION"] ?? "";
  if (election === "" && argument === undefined && option === undefined) {
    throw new CommandError(EXIT.usage, "no election is named; give --election NAME or the variable LEASEHOLD_ELECTION.");
  }
  checkName("election", election);
  return election;
}
