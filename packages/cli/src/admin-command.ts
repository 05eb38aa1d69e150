import type { LeaseSnapshot, LeaseStore } from "@leasehold/core";
import type { Command } from "commander";
import { addElectionOption, electionOf, addStoreOptions, openUsedStore } from "./target-options.ts";
import { EXIT, CommandError } from "./exit-codes.ts";
import { ageOf, barText, look } from "./snapshots.ts";
import type { ProcessEnvironment } from "./verb.ts";
import { teller, printable } from "./text.ts";

/** An order to one term of an election, with the store that carries it out. */
export interface Order {
  readonly store: LeaseStore;
  readonly election: string;
  /** The term that the user has seen. The order may end this term only. */
  readonly ifTerm: number;
}

/** The parts in which the orders of the verbs differ. */
export interface OrderText {
  /** The question to the user, such as `Break it?` */
  readonly question: string;
  /** Returns what makes the order doubtful. Then `--yes` does not answer the question, and only `--force` does. */
  readonly doubt?: (snapshot: LeaseSnapshot) => string | undefined;
  /** Refuses an order that makes no sense for this election. @throws {CommandError} */
  readonly check: (snapshot: LeaseSnapshot) => void;
}

/** Adds the arguments and options that every order has. */
export function addOrderOptions(command: Command): Command {
  const withElection = command.argument("[election]", "the election (default: LEASEHOLD_ELECTION)");
  return addElectionOption(addStoreOptions(withElection))
    .option("--yes", "do not ask")
    .option("--json", "print the result as JSON, in milliseconds");
}

/**
 * Asks the user, unless an option answers: `--yes` or, for a doubtful order, `--force`.
 * @throws {CommandError} if there is no terminal for the question, or the answer is not yes.
 */
export async function confirm(
  command: Command,
  environment: ProcessEnvironment,
  question: string,
  doubt?: string,
): Promise<void> {
  if (isSure(command, doubt)) return;
  checkCanAsk(command, environment, doubt);
  const asked = doubt === undefined ? question : `${doubt} ${question}`;
  if (!(await environment.ask?.(`${asked} [yes/no] `))) throw new CommandError(EXIT.notElected, "nothing was changed.");
}

/** @throws {CommandError} if a question is needed and there is no terminal for it. */
export function checkCanAsk(command: Command, { ask }: ProcessEnvironment, doubt?: string): void {
  if (isSure(command, doubt) || ask !== undefined) return;
  const [why, option] = doubt === undefined ? ["", "--yes"] : [`${doubt} `, "--force"];
  throw new CommandError(EXIT.usage, `${why}there is no terminal to ask at; give ${option} to do it without a question.`);
}

function isSure(command: Command, doubt: string | undefined): boolean {
  const { yes, force } = command.opts<{ readonly yes?: true; readonly force?: true }>();
  return force === true || (yes === true && doubt === undefined);
}

/** Returns the reason with the name of the user, as far as the environment knows it. */
export function signed(reason: string, { env }: ProcessEnvironment): string {
  const user = env["SUDO_USER"] ?? env["USER"];
  return user ? `${reason} (${user})` : reason;
}

/** Prints a line for people and, with `--json`, the result for programs. */
export function printResult(command: Command, environment: ProcessEnvironment, line: string, result: object): void {
  teller(environment)(line);
  if (command.opts<{ readonly json?: true }>().json) environment.stdout.write(`${JSON.stringify(result)}\n`);
}

/**
 * Shows the term that is about to end, asks the user unless an option answers, and gives the order. The order names this term, so
 * it cannot end the term of a successor.
 * @throws {CommandError} if no candidate has ever led, there is no terminal for the question, or the answer is not yes.
 */
export async function giveOrder<Outcome>(
  command: Command,
  environment: ProcessEnvironment,
  { question, doubt, check }: OrderText,
  give: (order: Order) => Promise<Outcome>,
): Promise<Outcome> {
  const [name] = command.processedArgs as [string | undefined];
  const election = electionOf(command, environment, name);
  checkCanAsk(command, environment);
  await using store = await openUsedStore(command, environment);
  const snapshot = await look(store, election);
  if (snapshot === undefined) {
    throw new CommandError(EXIT.nobodyLeads, `nobody has ever led '${election}' in this store; is that its name?`);
  }
  check(snapshot);
  environment.stderr.write(`${shown(snapshot)}\n`);
  await confirm(command, environment, question, doubt?.(snapshot));
  return await give({ store, election, ifTerm: snapshot.term });
}

/** Returns a line that describes the present term. */
export function shown(snapshot: LeaseSnapshot): string {
  const { election, state, term, holder } = snapshot;
  const facts = [`term ${term}`, state, holder === undefined ? "" : printable(holder), ageOf(snapshot), barText(snapshot)];
  return `${printable(election)}: ${facts.filter((fact) => fact !== "").join(", ")}`;
}
