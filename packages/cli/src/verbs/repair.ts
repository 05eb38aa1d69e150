import { isLeaseholdError, type LeaseSnapshot, type LeaseStore } from "@leasehold/core";
import type { RepairOutcome, TermRegressedError } from "@leasehold/core/provider";
import { InvalidArgumentError } from "commander";
import { addOrderOptions, checkCanAsk, confirm, printResult, shown } from "../admin-command.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { formatDuration, parseDuration } from "../duration.ts";
import { electionOf, openUsedStore } from "../target-options.ts";
import { isLost, look } from "../snapshots.ts";
import { printable } from "../text.ts";
import type { Verb } from "../verb.ts";

/** The proposed term is this far above the highest known one, because other processes may have seen a higher one. */
const ROOM = 1_000;

interface Options {
  readonly minTerm?: number;
  readonly lease?: number;
}

/** Puts an election right whose record was deleted or restored, so that its terms do not repeat. */
export const verb: Verb = {
  define(command) {
    addOrderOptions(command)
      .option("--min-term <term>", `the least next term (default: ${ROOM} above the highest known one)`, parseTerm)
      .option(
        "--lease <duration>",
        "the longest lease that the former leader may have (default: the record's, or 60s)",
        parseDuration,
      );
  },
  async act(command, environment) {
    const [name] = command.processedArgs as [string | undefined];
    const { minTerm: given, lease: leaseDurationMs } = command.opts<Options>();
    const election = electionOf(command, environment, name);
    checkCanAsk(command, environment);
    await using store = await openUsedStore(command, environment);
    const snapshot = await look(store, election);
    environment.stderr.write(`${await knownText(store, election, snapshot)}\n`);
    if (snapshot?.state === "held") throw held(snapshot);
    const write = async (minTerm: number): Promise<RepairOutcome> => {
      environment.stderr.write(`${printable(election)}: the next term is to be ${minTerm} or more\n`);
      await confirm(command, environment, "Write a new record, which nobody holds?");
      return await store.repair(election, { minTerm, leaseDurationMs });
    };
    const outcome = await repaired(write, election, given, snapshot);
    if (!outcome.repaired) throw held(outcome.current);
    const { minTerm, holdMs } = outcome;
    const line = `'${printable(election)}' is repaired: its next term is ${minTerm} or more, and nobody may lead for ${formatDuration(holdMs)}.`;
    printResult(command, environment, line, { election, minTerm, holdMs });
    return EXIT.done;
  },
};

/** Writes the record. Without `--min-term`, a fence that turns out to be ahead of the record raises the proposal, once. */
async function repaired(
  write: (minTerm: number) => Promise<RepairOutcome>,
  election: string,
  given: number | undefined,
  snapshot: LeaseSnapshot | undefined,
): Promise<RepairOutcome> {
  const minTerm = given ?? (snapshot && snapshot.term > 0 ? snapshot.term + ROOM : undefined);
  if (minTerm === undefined) {
    throw new CommandError(
      EXIT.usage,
      `nothing tells which terms '${election}' has had; give --min-term above every term that a process or a fenced resource has seen.`,
    );
  }
  try {
    return await write(minTerm);
  } catch (error) {
    if (given !== undefined || !isLeaseholdError(error, "TERM_REGRESSED")) throw error;
    return await write((error as TermRegressedError).highestTermSeen + ROOM);
  }
}

async function knownText(store: LeaseStore, election: string, snapshot: LeaseSnapshot | undefined): Promise<string> {
  if (snapshot === undefined) return `${printable(election)}: no record, and no fence`;
  return (await isLost(store, snapshot))
    ? `${printable(election)}: no record; its fence shows term ${snapshot.term}`
    : shown(snapshot);
}

function held({ election, term, holder = "" }: LeaseSnapshot): CommandError {
  return new CommandError(
    EXIT.notElected,
    `${printable(holder)} holds '${election}', as far as one read can tell: a record that is held is not repaired. End term ${term} with break first.`,
  );
}

function parseTerm(text: string): number {
  const term = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(term) && term > 0) return term;
  throw new InvalidArgumentError("It must be a whole number from 1.");
}
