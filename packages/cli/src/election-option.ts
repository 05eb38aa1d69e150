import { checkName } from "@leasehold/core/provider";
import type { Command } from "commander";
import { EXIT } from "./exit-codes.ts";
import { Failure } from "./failure.ts";
import type { Surroundings } from "./surroundings.ts";

/** Adds the option `--election`, which names one election. */
export function addElectionOption(command: Command): Command {
  return command.option("--election <name>", "the election (default: LEASEHOLD_ELECTION)");
}

/** Reports whether `--election` or the environment names an election. */
export function namesElection(command: Command, { env }: Surroundings): boolean {
  return command.opts<{ readonly election?: string }>().election !== undefined || Boolean(env["LEASEHOLD_ELECTION"]);
}

/**
 * Returns the election that the verb's argument, `--election` or the environment names.
 * @throws {Failure} if none of these names one, or if two of them do. {ConfigurationError} for an invalid name.
 */
export function electionOf(command: Command, { env }: Surroundings, argument?: string): string {
  const { election: option } = command.opts<{ readonly election?: string }>();
  if (argument !== undefined && option !== undefined) {
    throw new Failure(EXIT.usage, `two elections are named, '${argument}' and --election '${option}'; give one of them.`);
  }
  const election = argument ?? option ?? env["LEASEHOLD_ELECTION"] ?? "";
  if (election === "" && argument === undefined && option === undefined) {
    throw new Failure(EXIT.usage, "no election is named; give --election NAME or the variable LEASEHOLD_ELECTION.");
  }
  checkName("election", election);
  return election;
}
