import type { LeaseSnapshot, LeaseStore } from "@leasehold/core";
import { type PauseOutcome, isoOf } from "@leasehold/core/provider";
import { addOrderOptions, checkCanAsk, confirm, printResult, shown, signed } from "../admin-command.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { electionOf, openUsedStore } from "../target-options.ts";
import { look } from "../snapshots.ts";
import { printable } from "../text.ts";
import type { Verb } from "../verb.ts";

interface Options {
  readonly reason: string;
  readonly now?: true;
}

/** Keeps every candidate from acquiring an election, until `resume`. */
export const verb: Verb = {
  define(command) {
    addOrderOptions(command)
      .requiredOption("--reason <text>", "why, for who asks later; the user's name is added")
      .option("--now", "end the present term, too; its leader drains for the rest of its lease");
  },
  async act(command, environment) {
    const [name] = command.processedArgs as [string | undefined];
    const { reason, now } = command.opts<Options>();
    const election = electionOf(command, environment, name);
    if (now) checkCanAsk(command, environment);
    await using store = await openUsedStore(command, environment);
    const snapshot = await look(store, election);
    const ends = now === true && snapshot !== undefined && snapshot.state !== "vacant" ? snapshot : undefined;
    if (snapshot) environment.stderr.write(`${shown(snapshot)}\n`);
    if (snapshot === undefined) {
      const question = `Nobody has ever led '${printable(election)}' in this store. Pause it all the same?`;
      await confirm(command, environment, question);
    }
    if (ends) await confirm(command, environment, `Pause it, and end term ${ends.term}?`);
    const pause = await store.pause(election, { reason: signed(reason, environment) });
    const endedTerm = ends && (await endTerm(store, ends, reason));
    if (!pause.isNew && endedTerm === undefined) {
      throw new CommandError(EXIT.notElected, `'${election}' is paused already: ${pauseText(pause)}.`);
    }
    const successor = ends && endedTerm === undefined ? await look(store, election) : undefined;
    if (successor?.state === "held" || successor?.state === "ending") {
      const text = `'${election}' is paused, but '${successor.holder ?? ""}' leads it with term ${successor.term} and goes on. Repeat pause --now.`;
      throw new CommandError(EXIT.notElected, text);
    }
    const line = `'${printable(election)}' is paused; ${leaderText(successor ?? snapshot, endedTerm)}.`;
    const { reason: recorded, sinceMs } = pause;
    printResult(command, environment, line, { election, isNew: pause.isNew, reason: recorded, sinceMs, endedTerm });
    return EXIT.done;
  },
};

/** Breaks one term of the paused election, and returns it. Undefined if it was over by then. */
async function endTerm(store: LeaseStore, { election, term }: LeaseSnapshot, reason: string): Promise<number | undefined> {
  const outcome = await store.break(election, { reason, ifTerm: term });
  return outcome.broken ? outcome.term : undefined;
}

function pauseText({ reason, sinceMs }: PauseOutcome): string {
  return `${printable(reason)}${sinceMs === undefined ? "" : `, since ${isoOf(sinceMs)}`}`;
}

function leaderText(snapshot: LeaseSnapshot | undefined, endedTerm: number | undefined): string {
  if (endedTerm !== undefined) return `term ${endedTerm} is broken, and its leader drains for the rest of its lease`;
  const isLed = snapshot?.state === "held" || snapshot?.state === "ending" || snapshot?.state === "unknown";
  return isLed
    ? `${printable(snapshot.holder ?? "")} goes on with term ${snapshot.term}, and nobody may follow`
    : "nobody may lead";
}
