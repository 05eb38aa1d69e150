import { parseArgs } from "node:util";
import { assertProcessesFreeze, oneOf } from "../command-line.ts";
import { STORE_NAMES, type StoreName } from "@leasehold/test-kit/stores/stores";

export interface CommandLine {
  readonly store: StoreName;
  readonly json: boolean;
  readonly out: string;
  /** Plays the story of a fleet instead of that of an election. */
  readonly fleet: boolean;
  readonly help: boolean;
}

export const USAGE = `Usage: npm run demo [-- --store <store>] [-- --json] [-- --out <path>]
       npm run demo -- --fleet

Three worker processes compete for one lease on the store. The leader is killed, its successor is told to end, and the
next one is frozen until it is deposed. Takes about a quarter of a minute; on azure, whose shortest lease is 15 s, a minute.

On voting the three workers are all there is: they elect one of themselves. In the end the leader is cut off from the others.

With --fleet, five processes share 20 shards on SQLite. One is killed, one is frozen, one is added, one is stopped. A minute.

  --store <store>  ${STORE_NAMES.join(", ")}; default sqlite, which needs no server.
                   The others bring their own, and say what to install where that is missing
  --json           prints one JSON object per line: {"at","candidate","event","term",...}, with "at" in milliseconds
                   since the start, by the host's monotonic clock
  --out <path>     where the picture of the timeline (SVG) goes; default .results/demo-timeline.svg
  --help           prints this

Exit code: 0 if every expectation held, 1 if not, 2 for a wrong argument, or if the store's server is not installed.
`;

/** @throws an error that says which argument is wrong. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: "string", default: "sqlite" },
      json: { type: "boolean", default: false },
      out: { type: "string", default: ".results/demo-timeline.svg" },
      fleet: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  assertProcessesFreeze();
  const store = oneOf("store", values.store, STORE_NAMES);
  if (values.fleet && (store !== "sqlite" || values.json))
    throw new TypeError("Option '--fleet' is for SQLite, and has no '--json'.");
  if (values.out === "") throw new TypeError("Option '--out <path>' needs a path.");
  return { ...values, store };
}
