#!/usr/bin/env node
import { systemClock } from "@leasehold/core";
import { runCommand } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { takeOverConsole } from "./output/console.ts";
import { stderrSink } from "./output/output-sinks.ts";
import { UnblockedOutput } from "./output/unblocked-output.ts";
import { ownSurroundings } from "./own-surroundings.ts";
import { giveInitAway } from "./run/first-process.ts";

/** How long it waits, at its end, for somebody who reads what it has said. */
const LAST_WORDS_MS = 1_000;

// Before anything else is opened.
const { pid, execPath, execArgv, argv, env } = process;
giveInitAway({ pid, execPath, execArgv, argv, env, execve: process.execve?.bind(process) });

const stderr = new UnblockedOutput(stderrSink(), systemClock);
takeOverConsole(stderr);
// Nothing leads in a process that writes results, so that it may end at once.
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
  if (code === "EPIPE") process.exit(EXIT.done);
  stderr.write(`leasehold: the output cannot be written (${code}).\n`);
  void stderr.end(LAST_WORDS_MS).then(() => process.exit(EXIT.output));
});
const exitCode = await runCommand(argv.slice(2), ownSurroundings(stderr));
await stderr.end(LAST_WORDS_MS);
// What was written last goes out first; then nothing that an SDK has left behind keeps the process.
const exit = (): void => {
  if (!process.stdout.errored) process.exit(exitCode);
};
if (process.stdout.writableLength > 0) process.stdout.write("", exit);
else exit();
