import { Observer, type Leader, type LeaseStore } from "@leasehold/core";
import { isoOf } from "@leasehold/core/provider";
import { addElectionOption, electionsOf, addStoreOptions, openUsedStore } from "../target-options.ts";
import { EXIT } from "../exit-codes.ts";
import { addLogOptions, logOf } from "../log-options.ts";
import { look, isOutage } from "../snapshots.ts";
import { printable } from "../text.ts";
import type { Verb } from "../verb.ts";

/** Prints a line for each change of a leader, until a stop signal comes. Goes on after outages of the store. */
export const verb: Verb = {
  define(command) {
    const withElections = command.argument("[elections...]", "the elections (default: LEASEHOLD_ELECTION)");
    addLogOptions(addElectionOption(addStoreOptions(withElections))).option("--json", "print JSON, an object a line");
  },
  async act(command, environment) {
    const [names] = command.processedArgs as [string[]];
    const { json } = command.opts<{ readonly json?: true }>();
    const elections = electionsOf(command, environment, names);
    await using store = await openUsedStore(command, environment);
    const { clock, stdout } = environment;
    const { inform, logger } = logOf(command, environment);
    await Promise.all(elections.map(async (election) => await firstLook(store, election, inform)));
    const failed = new AbortController();
    const signal = AbortSignal.any([environment.untilStopped(), failed.signal]);
    const watch = async (election: string): Promise<void> => {
      const subject = elections.length === 1 ? "" : `${printable(election)}: `;
      for await (const leader of new Observer({ store, election, clock, logger }).observe({ signal })) {
        const at = isoOf(clock.wallMs());
        const line = json ? JSON.stringify({ at, election, leader: leader ?? null }) : `${at}  ${subject}${lineOf(leader)}`;
        stdout.write(`${line}\n`);
      }
    };
    // If one election can no longer be watched, the verb ends, so that nobody relies on it.
    const watches = await Promise.allSettled(elections.map(async (each) => await watch(each).finally(() => failed.abort())));
    const failure = watches.find((settled) => settled.status === "rejected");
    if (failure) throw failure.reason as Error;
    return EXIT.done;
  },
};

/**
 * Reads an election once, and says if it has never had a leader, because its name may be mistyped.
 * @throws if the store refuses the read, because a retry would not help. A store that does not answer may recover.
 */
async function firstLook(store: LeaseStore, election: string, inform: (line: string) => void): Promise<void> {
  try {
    const snapshot = await look(store, election);
    if (snapshot === undefined) inform(`nobody has ever led '${printable(election)}' in this store; is that its name?`);
  } catch (error) {
    if (!isOutage(error)) throw error;
  }
}

function lineOf(leader: Leader | undefined): string {
  if (leader === undefined) return "nobody leads";
  const { candidateId, term, state, value } = leader;
  const leads = { held: "leads", ending: "is ending", unknown: "has led last, and may lead" }[state];
  return `${printable(candidateId)} ${leads}, term ${term}${value === undefined ? "" : `, value ${printable(value)}`}`;
}
