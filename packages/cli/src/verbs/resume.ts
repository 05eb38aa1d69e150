import { addOrderOptions, printResult } from "../admin-command.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { electionOf, openUsedStore } from "../target-options.ts";
import { printable } from "../text.ts";
import type { Verb } from "../verb.ts";

/** Lifts a pause. Never asks, because it ends no term. */
export const verb: Verb = {
  define(command) {
    addOrderOptions(command);
  },
  async act(command, environment) {
    const [name] = command.processedArgs as [string | undefined];
    const election = electionOf(command, environment, name);
    await using store = await openUsedStore(command, environment);
    const { resumed } = await store.resume(election);
    if (!resumed) throw new CommandError(EXIT.notElected, `'${election}' is not paused: nothing was changed.`);
    printResult(command, environment, `'${printable(election)}' is resumed; anyone may lead.`, { election, resumed });
    return EXIT.done;
  },
};
