import { sleep } from "@leasehold/core/provider";
import { EXIT, CommandError } from "../exit-codes.ts";
import { addStoreOptions, openStore, storeUrl } from "../target-options.ts";
import { teller } from "../text.ts";
import type { Verb } from "../verb.ts";

/** The length of one timer. A timer cannot run for ever, so it is set again each day. */
const A_DAY_MS = 86_400_000;

/** Runs a voting server that is no candidate: beside a program in any language, or to complete a majority. */
export const verb: Verb = {
  define(command) {
    addStoreOptions(command).addHelpText(
      "after",
      "\nThe store is voting://a=HOST:7400,b=HOST:7400,c=HOST:7400?server=a&state=/var/lib/votes, with the secret in LEASEHOLD_VOTING_SECRET. " +
        "With the same URL, `run` and `serve` are one of the servers and a candidate.",
    );
  },
  async act(command, environment) {
    const url = await storeUrl(command, environment);
    if (!/^votings?:.*[?&]server=/.test(url)) {
      throw new CommandError(
        EXIT.usage,
        "vote takes a store of voting: with 'server' and 'state': the name of this server and its directory.",
      );
    }
    await using store = await openStore(command, environment);
    teller(environment)(`votes, as one of ${store.members?.().length ?? 1} servers, until it is told to stop.`);
    const stopped = environment.untilStopped();
    while (!stopped.aborted) await sleep(environment.clock, A_DAY_MS, stopped).catch(() => undefined);
    return EXIT.done;
  },
};
