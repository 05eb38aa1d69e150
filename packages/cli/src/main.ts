#!/usr/bin/env node
// The command starts here. Use only syntax here that old versions of Node can parse, so that they get one sentence.

import { setFlagsFromString } from "node:v8";

// A wrapper may run for weeks, and does little. Without optimised code it needs 7 MB less. Most of that code is made at its start.
if (process.argv[2] === "run") for (const flag of ["--no-opt", "--no-maglev", "--no-sparkplug"]) setFlagsFromString(flag);

/** The exit code `EXIT.configuration`. Its file cannot be loaded by an old version of Node. */
const CONFIGURATION = 78;

// Core refuses a version of Node that is too old.
const objection: Error | undefined = await import("@leasehold/core").then(
  () => undefined,
  (error: unknown) => error as Error,
);
if (objection === undefined) {
  await import("./start.ts");
} else {
  process.stderr.write(`leasehold: ${objection.message}\n`);
  process.exitCode = CONFIGURATION;
}
