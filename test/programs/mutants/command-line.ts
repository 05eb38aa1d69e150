import { parseArgs } from "node:util";
import { oneOf, wholeNumber } from "../command-line.ts";
import { PACKAGES } from "./sources.ts";

export interface CommandLine {
  readonly packages: readonly string[];
  /** The number of mutants of each package. All of them by default. */
  readonly sample: number | undefined;
  readonly seed: number;
  /** Only mutants of files whose path contains this text. */
  readonly file: string;
  readonly lanes: number;
  readonly long: boolean;
  /** The least part of the mutants of all packages together that has to be killed, in percent. */
  readonly least: number;
  readonly help: boolean;
}

export const USAGE = `Usage: npm run mutants [-- --package <name>]... [-- --sample <n> | --all] [-- --seed <s>] [-- --file <text>] [-- --long] [-- --lanes <n>]

Changes one point of a package's sources at a time, and runs the tests of that package which enter the block of the change,
until one fails. A mutant that no test fails on is shown: it needs a test, or a line in known-equivalents.diff that says why
nobody could tell it from the original.

  --package <name>  one of ${PACKAGES.join(", ")}; default: all of them
  --sample <n>      so many mutants of each package, drawn by the seed; default 20
  --all             every mutant
  --seed <s>        a whole number; default 1. An edit elsewhere does not change what it draws
  --file <text>     only mutants of files whose path contains this
  --long            puts those that survive to the package's long tests, too, which takes some minutes more
  --lanes <n>       so many test files at a time; default 2
  --least <p>       how many percent have to be killed; default 97
  --help            prints this

Exit code: 0 if so many were killed, 1 if fewer, 2 for a wrong argument.
`;

/** @throws an error that names the wrong argument. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { values } = parseArgs({
    args: [...args],
    options: {
      package: { type: "string", multiple: true, default: [...PACKAGES] },
      sample: { type: "string", default: "20" },
      all: { type: "boolean", default: false },
      seed: { type: "string", default: "1" },
      file: { type: "string", default: "" },
      long: { type: "boolean", default: false },
      lanes: { type: "string", default: "2" },
      least: { type: "string", default: "97" },
      help: { type: "boolean", default: false },
    },
  });
  return {
    packages: values.package.map((name) => oneOf("package", name, PACKAGES)),
    sample: values.all ? undefined : wholeNumber("sample", values.sample, 1),
    seed: wholeNumber("seed", values.seed, 0),
    file: values.file,
    long: values.long,
    lanes: wholeNumber("lanes", values.lanes, 1),
    least: wholeNumber("least", values.least, 0),
    help: values.help,
  };
}
