import { Argument, Command } from "commander";
import { COMPLETION_SCRIPTS, type CompletedVerb } from "../completion-script.ts";
import { EXIT } from "../exit-codes.ts";
import type { Verb } from "../verb.ts";
import { VERBS } from "../verbs.ts";

/** Prints the script by which a shell completes verbs and options. */
export const verb: Verb = {
  define(command) {
    command
      .addArgument(new Argument("<shell>", "the shell that reads the script").choices(Object.keys(COMPLETION_SCRIPTS)))
      .addHelpText("after", '\nFor bash: eval "$(leasehold completion bash)". For fish: leasehold completion fish | source.');
  },
  async act(command, { stdout }) {
    const [shell = ""] = command.processedArgs as string[];
    stdout.write(COMPLETION_SCRIPTS[shell]?.(await completedVerbs()) ?? "");
    return EXIT.done;
  },
};

async function completedVerbs(): Promise<readonly CompletedVerb[]> {
  return await Promise.all(
    Object.entries(VERBS).map(async ([name, { summary, load }]) => {
      const command = new Command(name);
      (await load()).verb.define(command);
      const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
      return { name, summary, choices, options: command.options };
    }),
  );
}
