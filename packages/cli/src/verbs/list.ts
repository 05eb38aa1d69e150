import type { LeaseStore, ListedElection } from "@leasehold/core";
import { isoOf, sleep } from "@leasehold/core/provider";
import { electionTable } from "../election-table.ts";
import { EXIT } from "../exit-codes.ts";
import { listedElections, NO_ELECTION, barText, isOutage } from "../snapshots.ts";
import { addStoreOptions, openUsedStore } from "../target-options.ts";
import type { ProcessEnvironment, Verb } from "../verb.ts";
import { teller, printable } from "../text.ts";

/** The time between two lists of `--watch`. Some stores charge a list by the size of the whole table. */
const WATCH_PERIOD_MS = 5_000;

interface Options {
  readonly watch?: true;
  readonly json?: true;
}

/** Prints the elections of a store. */
export const verb: Verb = {
  define(command) {
    addStoreOptions(command.argument("[prefix]", "only elections whose names begin with it"))
      .option("--watch", "list again every 5 s, and print a line for each change")
      .option("--json", "print JSON, in milliseconds; with --watch an object a line");
  },
  async act(command, environment) {
    const [prefix] = command.processedArgs as [string | undefined];
    const { watch, json } = command.opts<Options>();
    await using store = await openUsedStore(command, environment);
    if (watch) return await watchList(store, prefix, json === true, environment);
    const found = await listedElections(store, prefix, environment.untilStopped());
    environment.stdout.write(json ? `${JSON.stringify(found)}\n` : electionTable(found, environment));
    if (found.length === 0) teller(environment)(NO_ELECTION);
    return EXIT.done;
  },
};

async function watchList(
  store: LeaseStore,
  prefix: string | undefined,
  json: boolean,
  environment: ProcessEnvironment,
): Promise<number> {
  const { clock, stdout } = environment;
  const stopped = environment.untilStopped();
  const tell = teller(environment);
  let before = new Map<string, string>();
  let hasListed = false;
  for (; !stopped.aborted; await sleep(clock, WATCH_PERIOD_MS, stopped).catch(() => undefined)) {
    let found: readonly ListedElection[];
    try {
      found = await listedElections(store, prefix, stopped);
    } catch (error) {
      if (stopped.aborted) break;
      // A wrong address never gets better.
      if (!hasListed || !isOutage(error)) throw error;
      tell(printable(error.message));
      continue;
    }
    hasListed = true;
    for (const election of found) {
      const line = lineOf(election);
      if (before.get(election.election) === line) continue;
      const at = isoOf(clock.wallMs());
      stdout.write(json ? `${JSON.stringify({ at, ...election })}\n` : `${at}  ${line}\n`);
    }
    before = new Map(found.map((election) => [election.election, lineOf(election)]));
  }
  return EXIT.done;
}

/** Describes an election without its age, which changes all the time. */
function lineOf(election: ListedElection): string {
  const name = printable(election.election);
  if (election.state === "foreign") return `${name}: foreign, ${printable(election.problem)}`;
  const { state, term, holder, value } = election;
  const facts = [
    state,
    `term ${term}`,
    holder === undefined ? "" : printable(holder),
    value === undefined ? "" : `value ${printable(value)}`,
    election.bar?.kind === "hold" ? "held free" : barText(election),
  ];
  return `${name}: ${facts.filter((fact) => fact !== "").join(", ")}`;
}
