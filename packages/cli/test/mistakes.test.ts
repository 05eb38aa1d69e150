import { expect, test } from "vitest";
import { VERBS } from "../src/verbs.ts";
import { CapturedCommand } from "./captured-command.ts";

// Each mistake prints one line to stderr, and opens no store.
const MISTAKES: ReadonlyArray<readonly [args: string, exitCode: number, line: string]> = [
  ["timng", 64, "unknown command 'timng' (Did you mean timing?)"],
  ["timing --laese 3s", 64, "unknown option '--laese' (Did you mean --lease?)"],
  ["timing --lease", 64, "option '--lease <duration>' argument missing"],
  ["timing --lease 15", 64, "option '--lease <duration>' argument '15' is invalid. Say 15s or 15ms."],
  [
    "timing --lease 1.5sec",
    64,
    "option '--lease <duration>' argument '1.5sec' is invalid. Write it as 15s, 500ms, 2m or 1h, in whole milliseconds.",
  ],
  ["timing --lease 0.3ms", 64, "option '--lease <duration>' argument '0.3ms' is invalid. Write it as"],
  ["timing --lease 3s --lease 4s", 64, "option '--lease <duration>' is given twice; give it once."],
  ["run --election e --election f -- true", 64, "option '--election <name>' is given twice; give it once."],
  ["serve --quiet --verbose --election e", 64, "option '--verbose' cannot be used with option '--quiet'"],
  ["timing --lease 50ms", 78, "--lease is 50, in milliseconds; the shortest lease is 100."],
  ["timing more", 64, "too many arguments for 'timing'. Expected 0 arguments but got 1: more."],
  ["timing --store sqlite:///a --store-file /b", 64, "--store and --store-file both name a store; give one of them."],
  ["timing --store-file /nowhere/url", 78, "--store-file /nowhere/url cannot be read (ENOENT)."],
  ["timing --store mysql://me:pa55@host/db", 78, "the store's URL has a password, and arguments can be read by everybody"],
  ["timing --store postgres://host/db?password=pa55", 78, "the store's URL has a password"],
  [
    "timing postgres://me:pa55@host/db",
    64,
    "too many arguments for 'timing'. Expected 0 arguments but got 1: postgres://…@host/db.",
  ],
  ["break e --yes", 64, "required option '--reason <text>' not specified"],
  ["transfer e --yes", 64, "required option '--to <id>' not specified"],
  ["transfer e --to x --yes", 64, "no store is named; give --store URL, --store-file PATH or the variable LEASEHOLD_STORE."],
  ["transfer e --to a\u0007b --yes", 78, "candidateId has the control character U+0007 at index 1"],
  ["watch e --election e", 64, "two elections are named, 'e' and --election 'e'; give one of them."],
  ["status --store sqlite:///a --wait 5 e", 64, "option '--wait <duration>' argument '5' is invalid. Say 5s or 5ms."],
  ["watch --store sqlite:///a", 64, "no election is named; give --election NAME or the variable LEASEHOLD_ELECTION."],
  [
    "run --election e --signal NO -- true",
    64,
    "option '--signal <name>' argument 'NO' is invalid. It must be the name of a signal",
  ],
  [
    "run --election e --lost-exit-code 256 -- true",
    64,
    "option '--lost-exit-code <code>' argument '256' is invalid. It must be a whole number from 0 to 255.",
  ],
  [
    "run --election e --conflict-exit-code 1.5 -- true",
    64,
    "option '--conflict-exit-code <code>' argument '1.5' is invalid. It must be a whole number from 0 to 255.",
  ],
  [
    "run --election e --lost-exit-code= -- true",
    64,
    "option '--lost-exit-code <code>' argument '' is invalid. It must be a whole number from 0 to 255.",
  ],
  ["run --election e --occurrence= -- true", 64, "the key of --occurrence is empty; is a variable not set?"],
  // A valid command line gets as far as the store.
  ["run --election e --signal int -- true", 64, "no store is named"],
  ["run --election e --signal SigTerm --lost-exit-code 255 --conflict-exit-code 0 -- true", 64, "no store is named"],
  ["timing --store memory:", 78, "memory: lives in one process, and is for programs"],
];

test.for(MISTAKES)("leasehold %s: exit code %i", async ([args, exitCode, line]) => {
  const command = new CapturedCommand();
  command.env["LEASEHOLD_STORE"] = undefined;
  const ran = await command.run(...args.split(" "));
  expect(ran).toMatchObject({ exitCode, stdout: "" });
  expect(ran.stderr).toContain(`leasehold: ${line}`);
  expect(ran.stderr).toMatch(/^.*\n$/);
  expect(ran.stderr).not.toContain("pa55");
  expect(command.opened).toEqual([]);
});

test("shows the help without a verb, as a mistake, and on request, as no mistake", async () => {
  const command = new CapturedCommand();
  expect(await command.run()).toMatchObject({ exitCode: 64, stdout: "" });
  expect(command.stderr).toContain("Usage: leasehold");
  expect(await command.run("--help")).toMatchObject({ exitCode: 0, stderr: "" });
  expect(command.stdout).toContain("timing");
  for (const scheme of ["azure-blob", "dynamodb", "firestore", "etcd", "etcds", "sqlite", "postgres", "mysql"]) {
    expect(command.stdout).toContain(`\n  ${scheme}://`);
  }
});

test("help names a verb's options", async () => {
  const ran = await new CapturedCommand().run("help", "timing");
  expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
  expect(ran.stdout).toContain("--store-file <path>");
});

test("the help of run has a duration's default with its unit, and says that a key may be a version", async () => {
  const { stdout } = await new CapturedCommand().run("help", "run");
  const words = stdout.replace(/\s+/g, " ");
  expect(words).toContain("the longest that the command may take to end (default: 8s)");
  expect(words).toContain("once for this key, such as a tick or a version; with --wait other hosts wait for its end");
});

test("help describes each verb", async () => {
  const { stdout } = await new CapturedCommand().run("--help");
  const words = stdout.replaceAll(/\s+/g, " ");
  for (const [name, { summary }] of Object.entries(VERBS)) {
    expect(summary, name).not.toBe("");
    expect(words).toMatch(new RegExp(` ${name}( \\[\\S+\\])* ${summary.replaceAll(/[.()]/g, ".")} `));
  }
});
