import { Command, CommanderError } from "commander";
import manifest from "../package.json" with { type: "json" };
import { isCollected } from "./collected-option.ts";
import { errorReport } from "./error-report.ts";
import { EXIT } from "./exit-codes.ts";
import { jsonLine, LogFormat } from "./log-options.ts";
import { STORE_EXAMPLES } from "./store-url/store-from-url.ts";
import type { ProcessEnvironment } from "./verb.ts";
import { teller } from "./text.ts";
import { VERBS } from "./verbs.ts";

const EPILOGUE = `
The store is --store URL, or LEASEHOLD_STORE, or --store-file PATH:
${STORE_EXAMPLES.map((example) => `  ${example}`).join("\n")}
${manifest.homepage}`;

/** Runs the command with the arguments after its name, and returns the exit code. A verb's error becomes a line on stderr. */
export async function runCommand(
  args: readonly string[],
  environment: ProcessEnvironment,
  format: LogFormat = new LogFormat(args),
): Promise<number> {
  let exitCode: number = EXIT.done;
  let program: Command | undefined;
  try {
    program = await programFor(args, environment, format, (code) => (exitCode = code));
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander also throws after it has printed help or the version. Exit code 0 means that the user asked for it.
    if (error instanceof CommanderError && (error.exitCode === 0 || error.code === "commander.help")) {
      return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    }
    return printError(error, program?.commands ?? [], format.isJson, environment);
  }
}

/** Prints an error in the formats that the command line asks for, and returns the exit code. */
function printError(error: unknown, commands: readonly Command[], isJson: boolean, environment: ProcessEnvironment): number {
  const report = errorReport(error);
  const { exitCode, message, ...rest } = report;
  if (commands.some((command) => command.opts<{ readonly json?: true }>().json))
    environment.stdout.write(`${JSON.stringify({ error: report })}\n`);
  if (isJson) environment.stderr.write(jsonLine(environment.clock.wallMs(), "error", message, { ...rest, exitCode }));
  else teller(environment)(report.help === undefined ? message : `${message} See ${report.help}`);
  return exitCode;
}

async function programFor(
  args: readonly string[],
  environment: ProcessEnvironment,
  format: LogFormat,
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
    refuseRepeats(command);
    command.action(async () => {
      format.parsed(command);
      end(await verb.act(command, environment));
    });
  }
  return program;
}

/** Makes the command refuse a second value of an option that takes one, because the first would be dropped in silence. */
function refuseRepeats(command: Command): void {
  for (const option of command.options) {
    const takesOne = (option.required || option.optional) && !isCollected(option);
    let isGiven = false;
    command.on(`option:${option.name()}`, () => {
      if (takesOne && isGiven) command.error(`option '${option.flags}' is given twice; give it once.`);
      isGiven = true;
    });
  }
}
