import { EXIT, CommandError } from "../exit-codes.ts";
import { addStoreOptions, openStore } from "../target-options.ts";
import { printResult } from "../admin-command.ts";
import { printable } from "../text.ts";
import type { Verb } from "../verb.ts";

/** Makes a quorum count a member again that was emptied, or restored from a backup. */
export const verb: Verb = {
  define(command) {
    addStoreOptions(command)
      .argument("<member>", "its name in the quorum")
      .argument("[elections...]", "elections that it is to know, also those that nobody leads")
      .option("--json", "print the result as JSON");
  },
  async act(command, environment) {
    const [member, elections] = command.processedArgs as [string, string[]];
    await using store = await openStore(command, environment);
    if (!store.heal)
      throw new CommandError(EXIT.usage, `the store ${store.name} is not made of members: nothing is to be taken in.`);
    await store.heal(member, elections);
    const line = `the member ${printable(member)} is taken in${elections.length > 0 ? ", and has these elections" : ""}.`;
    printResult(command, environment, line, { member, elections });
    return EXIT.done;
  },
};
