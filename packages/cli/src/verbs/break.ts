import { EXIT, CommandError } from "../exit-codes.ts";
import { addOrderOptions, giveOrder, printResult } from "../admin-command.ts";
import type { Verb } from "../verb.ts";
import { printable } from "../text.ts";

interface Options {
  readonly reason: string;
  readonly immediate?: true;
}

/** Forces a re-election. Also removes a hold, a transfer and a reservation, but not a pause. */
export const verb: Verb = {
  define(command) {
    addOrderOptions(command)
      .requiredOption("--reason <text>", "why, for who asks later")
      .option("--immediate", "do not wait for the lease to run out; then only fencing protects from the old leader");
  },
  async act(command, environment) {
    const { reason, immediate } = command.opts<Options>();
    const question = immediate ? "Break it at once, although its leader may go on for a while?" : "Break it?";
    const outcome = await giveOrder(
      command,
      environment,
      {
        question,
        check({ election, state, bar }) {
          if (state !== "vacant" || bar !== undefined) return;
          throw new CommandError(
            EXIT.nobodyLeads,
            `nobody leads '${election}', and nothing keeps candidates out: there is nothing to break.`,
          );
        },
      },
      async ({ store, election, ifTerm }) => await store.break(election, { reason, ifTerm, immediate }),
    );
    const paused = outcome.broken ? undefined : outcome.current?.bar;
    if (paused?.kind === "pause") {
      throw new CommandError(
        EXIT.notElected,
        `the election is paused (${printable(paused.reason)}), and a break lifts no pause: lift it with resume.`,
      );
    }
    if (!outcome.broken) {
      throw new CommandError(EXIT.notElected, "that term is over by itself: nothing was broken. Look again with status.");
    }
    const next = immediate ? "anyone may lead now" : "anyone may lead once its lease has run out";
    printResult(command, environment, `term ${outcome.term} is broken; ${next}.`, outcome);
    return EXIT.done;
  },
};
