import { systemClock } from "@leasehold/core/provider";
import { runCommand } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { LogFormat, lineMaker } from "./log-options.ts";
import { takeOverConsole } from "./output/console.ts";
import { stderrSink } from "./output/output-sinks.ts";
import { UnblockedOutput } from "./output/unblocked-output.ts";
import { ownSurroundings } from "./own-environment.ts";
import { giveInitAway } from "./run/first-process.ts";

/** The longest wait at the end of the process, until the reader has taken its messages. */
const LAST_WORDS_MS = 1_000;

// This comes before anything else is opened, because a shell may take the place of this process.
const { pid, execPath, execArgv, argv, env } = process;
giveInitAway({ pid, execPath, execArgv, argv, env, execve: process.execve?.bind(process) });

const format = new LogFormat(argv.slice(2));
const lineOf = lineMaker(format, () => systemClock.wallMs());
const stderr = new UnblockedOutput(stderrSink(), systemClock, lineOf);
takeOverConsole(stderr, lineOf);
// A process that writes results to stdout does not lead, so it may end at once.
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
  if (code === "EPIPE") process.exit(EXIT.done);
  stderr.write(lineOf(`the output cannot be written (${code}).`));
  void stderr.end(LAST_WORDS_MS).then(() => process.exit(EXIT.output));
});
const exitCode = await runCommand(argv.slice(2), ownSurroundings(stderr), format);
await stderr.end(LAST_WORDS_MS);
// Write the rest of stdout, then exit. `process.exit` is needed, because an SDK's open handles could keep the process alive.
const exit = (): void => {
  if (!process.stdout.errored) process.exit(exitCode);
};
if (process.stdout.writableLength > 0) process.stdout.write("", exit);
else exit();
