import { isLeaseholdError, Observer, type Leader, type LeaseStore } from "@leasehold/core";
import { addElectionOption, electionOf } from "../election-option.ts";
import { EXIT } from "../exit-codes.ts";
import { loggerTo } from "../line-logger.ts";
import { look } from "../snapshot-text.ts";
import { addStoreOptions, openUsedStore } from "../store-option.ts";
import { teller } from "../tell.ts";
import { printable } from "../text.ts";
import type { Verb } from "../verb.ts";

/** The error codes of a store that may recover. */
const OUTAGES = ["STORE_TIMEOUT", "STORE_UNAVAILABLE", "STORE_THROTTLED"] as const;

/** Prints a line for each change of the leader, until a stop signal comes. Goes on after outages of the store. */
export const verb: Verb = {
  define(command) {
    addElectionOption(addStoreOptions(command.argument("[election]", "the election (default: LEASEHOLD_ELECTION)"))).option(
      "--json",
      "print JSON, an object a line",
    );
  },
  async act(command, environment) {
    const [name] = command.processedArgs as [string | undefined];
    const { json } = command.opts<{ readonly json?: true }>();
    const election = electionOf(command, environment, name);
    await using store = await openUsedStore(command, environment);
    const { clock, stdout } = environment;
    await checkAnswers(store, election);
    const observer = new Observer({ store, election, clock, logger: loggerTo(teller(environment)) });
    for await (const leader of observer.observe({ signal: environment.untilStopped() })) {
      const at = timeOf(clock.wallMs());
      stdout.write(`${json ? JSON.stringify({ at, election, leader: leader ?? null }) : `${at}  ${lineOf(leader)}`}\n`);
    }
    return EXIT.done;
  },
};

/** @throws if the store refuses the read, because a retry would not help. A store that does not answer may recover. */
async function checkAnswers(store: LeaseStore, election: string): Promise<void> {
  try {
    await look(store, election);
  } catch (error) {
    if (!OUTAGES.some((code) => isLeaseholdError(error, code))) throw error;
  }
}

function lineOf(leader: Leader | undefined): string {
  if (leader === undefined) return "nobody leads";
  const { candidateId, term, state, value } = leader;
  const leads = { held: "leads", ending: "is ending", unknown: "has led last, and may lead" }[state];
  return `${printable(candidateId)} ${leads}, term ${term}${value === undefined ? "" : `, value ${printable(value)}`}`;
}

function timeOf(wallMs: number): string {
  // oxlint-disable-next-line eslint/no-restricted-globals -- writes a time that the clock has told
  return new Date(wallMs).toISOString();
}
