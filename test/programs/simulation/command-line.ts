import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { oneOf, wholeNumber } from "../command-line.ts";
import type { Alone } from "./seeds.ts";
import { STORE_KINDS, type StoreKind } from "./stores/stores.ts";

export interface CommandLine {
  readonly runs: number;
  readonly seed: number;
  readonly stores: readonly StoreKind[] | undefined;
  readonly threads: number;
  readonly mutants: boolean;
  readonly alone: Alone | undefined;
  readonly json: boolean;
  readonly help: boolean;
}

export const USAGE = `Usage: npm run simulate [-- --runs <n>] [-- --seed <s>] [-- --store <kind>] [-- --threads <n>] [-- --json]
       npm run simulate -- --voters|--failovers|--quorums [-- --runs <n>] [-- --seed <s>] [-- --threads <n>] [-- --json]
       npm run simulate -- --mutants [-- --runs <n>] [-- --seed <s>]

Runs elections in virtual time: real electors on real lease stores, over a network, clocks, processes and a service to
which everything happens, and checks after every step what must always hold. Run number i has the seed <s> + i, and a
seed decides everything in its run. A run that breaks something is repeated, made as small as it can be, and shown.
Ctrl-C ends it early, with what the runs so far have come to.

  --runs <n>      how many; default 10000. With --mutants, the most for each
  --seed <s>      the first seed, a whole number; default 1
  --store <kind>  only this kind of store: ${STORE_KINDS.map((kind) => `'${kind}'`).join(", ")}
  --voters        servers that vote, alone: without electors, which makes a run short, and with every fault of theirs
  --failovers     servers that vote, with electors: each run is one failover with round trips and syncs of any length
  --quorums       the leases of a quorum, alone, in the same way
  --threads <n>   default: one for each core, here ${availableParallelism()}
  --mutants       puts each known bug into the sources in turn, and tells how many runs it takes to catch it
  --json          prints the result as one line of JSON
  --help          prints this

Exit code: 0 if nothing was broken (with --mutants: every bug was caught), 1 if something was, 2 for a wrong argument.
`;

/** @throws an error that names the wrong argument. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runs: { type: "string" },
      seed: { type: "string", default: "1" },
      store: { type: "string" },
      threads: { type: "string", default: String(availableParallelism()) },
      mutants: { type: "boolean", default: false },
      voters: { type: "boolean", default: false },
      failovers: { type: "boolean", default: false },
      quorums: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const store = values.store === undefined ? undefined : oneOf("store", values.store, STORE_KINDS);
  if (store && values.mutants) throw new TypeError("Option '--store' does not go with '--mutants': each has its own stores.");
  const { voters, failovers, quorums, ...others } = values;
  const worlds = Object.entries({ voters, failovers, quorums }).flatMap(([name, is]) => (is ? [name as Alone] : []));
  const [alone, another] = worlds;
  const beside = store ? "store" : values.mutants ? "mutants" : another;
  if (alone && beside) throw new TypeError(`Option '--${alone}' does not go with '--${beside}'.`);
  return {
    ...others,
    alone,
    runs: wholeNumber("runs", values.runs ?? (values.mutants ? "20000" : "10000"), 1),
    seed: wholeNumber("seed", values.seed, 0),
    threads: wholeNumber("threads", values.threads, 1),
    stores: store && [store],
  };
}
