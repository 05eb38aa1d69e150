import { checkName, type TransferOutcome } from "@leasehold/core/provider";
import { EXIT, CommandError } from "../exit-codes.ts";
import { addOrderOptions, giveOrder, printResult, type Order } from "../admin-command.ts";
import type { ProcessEnvironment, Verb } from "../verb.ts";
import { teller, printable } from "../text.ts";

/** Asks the leader to stop its task, and to transfer the election to one candidate. */
export const verb: Verb = {
  define(command) {
    addOrderOptions(command)
      .requiredOption("--to <id>", "the candidate that is to lead: its candidateId")
      .option("--force", "do not ask, even if that candidate has led none of the last terms");
  },
  async act(command, environment) {
    const { to } = command.opts<{ readonly to: string }>();
    checkName("candidateId", to);
    const outcome = await giveOrder(
      command,
      environment,
      {
        question: `Transfer it to ${printable(to)}? If no candidate has that name, nobody leads for half a minute.`,
        // No store that can transfer knows its standbys. The last leaders are the only names that it shows, if it keeps any.
        doubt: ({ election, history }) =>
          history === undefined || history.some(({ candidateId }) => candidateId === to)
            ? undefined
            : `${printable(to)} is not among the last leaders of '${printable(election)}'; is that its name?`,
        check({ election, state, holder }) {
          if (state === "vacant" || state === "expired") {
            throw new CommandError(EXIT.nobodyLeads, `nobody leads '${election}': there is nothing to transfer.`);
          }
          if (holder === to) throw new CommandError(EXIT.usage, `'${to}' leads '${election}' already.`);
        },
      },
      async (order) => await transferTo(order, to, environment),
    );
    if (outcome !== "accepted") throw new CommandError(EXIT.notElected, FAILURES[outcome](printable(to)));
    printResult(command, environment, `${printable(to)} leads.`, { outcome, candidateId: to });
    return EXIT.done;
  },
};

const FAILURES: Readonly<Record<Exclude<TransferOutcome, "accepted">, (to: string) => string>> = {
  expired: (to) => `${to} did not take it in time; anyone may lead now. Is it running, and is that its candidateId?`,
  lost: (to) => `the term was over, or somebody other than ${to} leads. Look again with status.`,
};

async function transferTo(
  { store, election, ifTerm }: Order,
  to: string,
  environment: ProcessEnvironment,
): Promise<TransferOutcome> {
  const signal = environment.untilStopped();
  teller(environment)("the leader is asked to drain and to release; waiting for it.");
  try {
    return await store.transfer(election, to, { ifTerm, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new CommandError(EXIT.notElected, "no longer waiting; the transfer goes on without this command.");
  }
}
