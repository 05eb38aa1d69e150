import { parseArgs } from "node:util";

export interface CommandLine {
  readonly full: boolean;
  readonly help: boolean;
}

export const USAGE = `Usage: npm run model [-- --full]

Searches every state of the models of the record protocol, of a quorum, voting and a fleet (test/programs/model): of the right ones, where
all claims have to hold, and of versions with one rule broken, where the search has to find how a claim is violated. By default it
searches each right model within its smallest bounds, which takes a minute on two cores.

  --full  searches everything, within all bounds: ten minutes on two cores, and up to 1 GB of memory for each of two searches.
          A change of a model needs it, and so does a change of the protocol that the model stands for
  --help  prints this

Exit code: 0 if everything was found as expected, 1 if not, 2 for a wrong argument.
`;

/** @throws an error that names the wrong argument. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { values } = parseArgs({
    args: [...args],
    options: { full: { type: "boolean", default: false }, help: { type: "boolean", short: "h", default: false } },
  });
  return values;
}
