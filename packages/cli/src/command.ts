import { Command, CommanderError } from "commander";
import manifest from "../package.json" with { type: "json" };
import { EXIT, exitCodeOf } from "./exit-codes.ts";
import { STORE_EXAMPLES } from "./store-url/store-from-url.ts";
import type { ProcessEnvironment } from "./process-environment.ts";
import { teller } from "./tell.ts";
import { VERBS } from "./verbs.ts";

const EPILOGUE = `
The store is --store URL, or LEASEHOLD_STORE, or --store-file PATH:
${STORE_EXAMPLES.map((example) => `  ${example}`).join("\n")}
${manifest.homepage}`;

/** Runs the command with the arguments after its name, and returns the exit code. A verb's error becomes a line on stderr. */
export async function runCommand(args: readonly string[], environment: ProcessEnvironment): Promise<number> {
  let exitCode: number = EXIT.done;
  const program = await programFor(args, environment, (code) => (exitCode = code));
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander also throws after it has printed help or the version. Exit code 0 means that the user asked for it.
    if (error instanceof CommanderError && (error.exitCode === 0 || error.code === "commander.help")) {
      return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    }
    const message = error instanceof Error ? error.message : String(error);
    teller(environment)(message.replace(/^error: /, ""));
    return error instanceof CommanderError ? EXIT.usage : exitCodeOf(error);
  }
}

async function programFor(
  args: readonly string[],
  environment: ProcessEnvironment,
  end: (exitCode: number) => void,
): Promise<Command> {
  const { stdout, stderr } = environment;
  const program = new Command("leasehold")
    .description(manifest.description)
    .version(manifest.version)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      // `runCommand` prints the error when it catches it.
      outputError: () => {},
    })
    .addHelpText("after", EPILOGUE);
  // Load only the requested verb. The help and the suggestions after a typing error need just the names of the others.
  const asked = args.find((argument) => !argument.startsWith("-") && argument !== "help");
  for (const [name, { summary, load }] of Object.entries(VERBS)) {
    const command = program.command(name).summary(summary).description(`${summary}.`);
    if (name !== asked) continue;
    const { verb } = await load();
    verb.define(command);
    command.action(async () => end(await verb.act(command, environment)));
  }
  return program;
}
