#!/usr/bin/env node
import { runCommand } from "./command.ts";
import { ownSurroundings } from "./own-surroundings.ts";

const exitCode = await runCommand(process.argv.slice(2), ownSurroundings());
// What was written last goes out first; then nothing that an SDK has left behind keeps the process.
process.stdout.write("", () => process.stderr.write("", () => process.exit(exitCode)));
