import type { LeaseSnapshot, LeaseStore, ListedElection } from "@leasehold/core";
import { membersText, sleep } from "@leasehold/core/provider";
import { parseDuration } from "../duration.ts";
import { addElectionOption, electionsOf, namesElection, addStoreOptions, openUsedStore } from "../target-options.ts";
import { electionTable } from "../election-table.ts";
import { EXIT } from "../exit-codes.ts";
import { historyTable } from "../history-table.ts";
import { listedElections, NO_ELECTION, look } from "../snapshots.ts";
import type { ProcessEnvironment, Verb } from "../verb.ts";
import { teller, printable } from "../text.ts";

/** The longest wait between two reads of `--wait`. */
const RETRY_PERIOD_MS = 2_000;

interface Options {
  readonly wait?: number;
  readonly history?: true;
  readonly json?: true;
}

/** Prints for each election who leads, and the age of the lease. */
export const verb: Verb = {
  define(command) {
    addElectionOption(
      addStoreOptions(command.argument("[elections...]", "the elections (default: LEASEHOLD_ELECTION, or all of the store)")),
    )
      .option("--wait <duration>", "while it cannot be told whether anybody leads, look again for this long", parseDuration)
      .option("--history", "also print the last terms, where the store keeps them")
      .option("--json", "print JSON, in milliseconds, with the last terms")
      .addHelpText("after", "\nExit code 0: every election is led; 3: one is not; 4: of one a look cannot tell, see --wait.");
  },
  async act(command, environment) {
    const [names] = command.processedArgs as [string[]];
    const { wait: waitMs = 0, history, json } = command.opts<Options>();
    const isAll = names.length === 0 && !namesElection(command, environment);
    const elections = isAll ? undefined : electionsOf(command, environment, names);
    await using store = await openUsedStore(command, environment);
    const found = elections
      ? await Promise.all(elections.map(async (election) => await stateOf(store, election, waitMs, environment)))
      : await statesOfAll(store, waitMs, environment);
    environment.stdout.write(json ? `${JSON.stringify(found)}\n` : electionTable(found, environment));
    if (history && !json) environment.stdout.write(historyTable(found));
    if (history && !json && isWithoutHistory(found)) {
      teller(environment)(`${store.name} keeps no past terms of the elections above.`);
    }
    if (found.length === 0) teller(environment)(NO_ELECTION);
    const absent = store.members && membersText(store.members(), "members of the store");
    if (absent !== undefined) teller(environment)(printable(absent));
    if (found.length === 0 || found.some(({ state }) => state === "vacant" || state === "expired")) return EXIT.nobodyLeads;
    return found.some(({ state }) => state === "unknown" || state === "foreign") ? EXIT.unknown : EXIT.done;
  },
};

/** Reports whether elections were led, and the store has kept a term of none of them. */
function isWithoutHistory(found: readonly ListedElection[]): boolean {
  const led = found.filter((each) => each.state !== "foreign").filter(({ term }) => term > 0);
  return led.length > 0 && led.every(({ history }) => history === undefined);
}

/**
 * Reads every election of the store. If a list does not show an election's state, the election is read again, for as long as
 * `--wait` says.
 */
async function statesOfAll(
  store: LeaseStore,
  waitMs: number,
  environment: ProcessEnvironment,
): Promise<readonly ListedElection[]> {
  const listed = await listedElections(store, undefined, environment.untilStopped());
  return await Promise.all(
    listed.map(async (each) =>
      each.state === "unknown" && waitMs > 0 ? await stateOf(store, each.election, waitMs, environment) : each,
    ),
  );
}

async function stateOf(
  store: LeaseStore,
  election: string,
  waitMs: number,
  environment: ProcessEnvironment,
): Promise<LeaseSnapshot> {
  const { clock, untilStopped } = environment;
  const begunMs = clock.monotonicMs();
  for (;;) {
    const snapshot = await look(store, election);
    if (snapshot === undefined) {
      teller(environment)(`nobody has ever led '${printable(election)}' in this store; is that its name?`);
      return { election, state: "vacant", term: 0 };
    }
    const leftMs = begunMs + waitMs - clock.monotonicMs();
    if (snapshot.state !== "unknown" || leftMs <= 0) return snapshot;
    try {
      await sleep(clock, Math.min(store.nextLookMs(election, RETRY_PERIOD_MS), leftMs), untilStopped());
    } catch {
      // Only a stop signal ends the wait early.
      return snapshot;
    }
  }
}
