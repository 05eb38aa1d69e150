import type { LeaseSnapshot, LeaseState, LeaseStore } from "@leasehold/core";
import { membersText, sleep } from "@leasehold/core/provider";
import { painter, type Colour } from "../colour.ts";
import { parseDuration } from "../duration.ts";
import { addElectionOption, electionOf } from "../election-option.ts";
import { EXIT } from "../exit-codes.ts";
import { ageOf, barText, look } from "../snapshot-text.ts";
import { addStoreOptions, openUsedStore } from "../store-option.ts";
import type { ProcessEnvironment } from "../process-environment.ts";
import { table } from "../table.ts";
import { teller } from "../tell.ts";
import { clipped, printable } from "../text.ts";
import type { Verb } from "../verb.ts";

/** The longest wait between two reads of `--wait`. */
const RETRY_PERIOD_MS = 2_000;

interface Options {
  readonly wait?: number;
  readonly json?: true;
}

/** Prints for each election who leads, and the age of the lease. */
export const verb: Verb = {
  define(command) {
    addElectionOption(addStoreOptions(command.argument("[elections...]", "the elections (default: LEASEHOLD_ELECTION)")))
      .option("--wait <duration>", "while it cannot be told whether anybody leads, look again for this long", parseDuration)
      .option("--json", "print JSON, in milliseconds")
      .addHelpText("after", "\nExit code 0: every election is led; 3: one is not; 4: of one a look cannot tell, see --wait.");
  },
  async act(command, environment) {
    const [names] = command.processedArgs as [string[]];
    const { wait: waitMs = 0, json } = command.opts<Options>();
    const elections = (names.length === 0 ? [undefined] : names).map((name) => electionOf(command, environment, name));
    await using store = await openUsedStore(command, environment);
    const found = await Promise.all(elections.map(async (election) => await standingOf(store, election, waitMs, environment)));
    environment.stdout.write(json ? `${JSON.stringify(found)}\n` : tableOf(found, environment));
    const absent = store.members && membersText(store.members(), "members of the store");
    if (absent !== undefined) teller(environment)(printable(absent));
    if (found.some(({ state }) => state === "vacant" || state === "expired")) return EXIT.nobodyLeads;
    return found.some(({ state }) => state === "unknown") ? EXIT.unknown : EXIT.done;
  },
};

async function standingOf(
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

const COLOURS: Readonly<Record<LeaseState, Colour>> = {
  held: "green",
  ending: "yellow",
  unknown: "yellow",
  expired: "red",
  vacant: "red",
};

function tableOf(found: readonly LeaseSnapshot[], environment: ProcessEnvironment): string {
  const paint = painter(environment, environment.stdout);
  const rows = found.map((snapshot) => [
    printable(snapshot.election),
    snapshot.state,
    String(snapshot.term),
    clipped(printable(snapshot.holder ?? "")),
    clipped(printable(snapshot.value ?? "")),
    ageOf(snapshot),
    clipped(barText(snapshot)),
  ]);
  const [head = "", ...lines] = table(["ELECTION", "STATE", "TERM", "LEADER", "VALUE", "AGE", "NOTE"], rows);
  return [paint("dim", head), ...lines.map((line, at) => paint(COLOURS[found[at]?.state ?? "unknown"], line))]
    .map((line) => `${line}\n`)
    .join("");
}
