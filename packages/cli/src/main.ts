#!/usr/bin/env node
// The command starts here. Use only syntax here that old versions of Node can parse, so that they get one sentence.

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
