import { parseArgs } from "node:util";

export interface CommandLine {
  readonly json: boolean;
  readonly out: string;
  readonly help: boolean;
}

export const USAGE = `Usage: npm run demo [-- --json] [-- --out <path>]

Starts Azurite and three worker processes that compete for one lease of 15 s. The leader is killed, its successor is told
to end, and the next one is frozen until it is deposed. Takes about a minute.

  --json        prints one JSON object per line: {"at","candidate","event","term",...}, with "at" in milliseconds
                since the start, by the host's monotonic clock
  --out <path>  where the picture of the timeline (SVG) goes; default .results/demo-timeline.svg
  --help        prints this

Exit code: 0 if every expectation held, 1 if not, 2 for a wrong argument.
`;

/** @throws an error that says which argument is wrong. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: "boolean", default: false },
      out: { type: "string", default: ".results/demo-timeline.svg" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.out === "") throw new TypeError("Option '--out <path>' needs a path.");
  return values;
}
