import { parseArgs } from "node:util";
import { assertProcessesFreeze, oneOf, wholeNumber } from "../command-line.ts";
import { STORE_NAMES, type StoreName } from "@leasehold/test-kit/stores/stores";

export interface CommandLine {
  /** The store; undefined for all that are installed. */
  readonly store: StoreName | undefined;
  readonly minutes: number;
  /** The seed; undefined for a random one. */
  readonly seed: number | undefined;
  readonly help: boolean;
}

export const USAGE = `Usage: npm run chaos [-- --store <store>] [-- --minutes <number>] [-- --seed <number>]

Five worker processes compete for one lease on a real store, each through a fault proxy of its own, and write to a register
in that store while they lead. They are killed, frozen, blocked, restarted and cut off, and the store goes away and comes
back; of several stores that keep the lease together, one is stopped, killed or emptied at a time. In the end all that was said and written is checked: never two leaders, no stale write accepted, no confirmed write
lost, and a leader again after every round.

  --store <store>     ${STORE_NAMES.join(", ")}; default: all that are installed
  --minutes <number>  how long on each store, more than 0; default 1. The last election is played to its end
  --seed <number>     a whole number from 0 to 4294967295; default: a random one, which is printed. The first election has
                      this very seed, and each seed makes one plan; what comes of it depends on the machine as well
  --help              prints this

Exit code: 0 if all is well, 1 if not, 2 for a wrong argument, or if the store's server is not installed. The history of an
election that went wrong is kept in .results/chaos.
`;

/** @throws an error that names the wrong argument. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: "string" },
      minutes: { type: "string", default: "1" },
      seed: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  assertProcessesFreeze();
  const store = values.store === undefined ? undefined : oneOf("store", values.store, STORE_NAMES);
  const minutes = Number(values.minutes);
  if (values.minutes.trim() === "" || !(minutes > 0 && minutes < Infinity)) {
    throw new TypeError(`Option '--minutes' is '${values.minutes}'; it must be a number of minutes, more than 0.`);
  }
  const seed = values.seed === undefined ? undefined : wholeNumber("seed", values.seed, 0, 2 ** 32 - 1);
  return { store, minutes, seed, help: values.help };
}
