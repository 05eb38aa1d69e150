import { checkName } from "@leasehold/core/provider";
import type { Command } from "commander";
import { EXIT } from "./exit-codes.ts";
import { Failure } from "./failure.ts";
import type { Surroundings } from "./surroundings.ts";

/** Adds `--election`, for one election. */
export function addElectionOption(command: Command): Command {
  return command.option("--election <name>", "the election (default: LEASEHOLD_ELECTION)");
}

/** Reports whether an election is named at all. */
export function namesElection(command: Command, { env }: Surroundings): boolean {
  return command.opts<{ readonly election?: string }>().election !== undefined || Boolean(env["LEASEHOLD_ELECTION"]);
}

/**
 * Returns the election that is named: as an argument of the verb, by `--election`, or by the environment.
 * @throws {Failure} if none is, or two are. {ConfigurationError} for a name that cannot be one.
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
