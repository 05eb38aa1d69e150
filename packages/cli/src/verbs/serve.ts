import { hostname } from "node:os";
import { Elector, type Leadership } from "@leasehold/core";
import { onAbort } from "@leasehold/core/provider";
import { collectedOption } from "../collected-option.ts";
import { parseDuration } from "../duration.ts";
import { EXIT, CommandError } from "../exit-codes.ts";
import { addLogOptions, logOf } from "../log-options.ts";
import { waitUnlessStopped } from "../run/stop-limit.ts";
import { ServedElector } from "../serve/candidate.ts";
import { ElectionWatch } from "../serve/election-watch.ts";
import { FleetWatch } from "../serve/fleet-watch.ts";
import { DEFAULT_ADDRESS, parseHttpAddress } from "../http/http-address.ts";
import { startHttp } from "../serve/http-server.ts";
import { addStoreOptions, fileContent, openStore, openUsedStore } from "../target-options.ts";
import type { ProcessEnvironment, Verb } from "../verb.ts";
import { printable } from "../text.ts";

interface Options {
  readonly election?: readonly string[];
  readonly fleet: readonly string[];
  readonly http: string;
  readonly httpHost: readonly string[];
  readonly id?: string;
  readonly value?: string;
  readonly lease?: number;
  readonly stall?: number;
  readonly tokenFile?: string;
}

/** The sidecar: it campaigns for a program that asks over HTTP who leads. */
export const verb: Verb = {
  define(command) {
    addLogOptions(addStoreOptions(command))
      .addOption(
        collectedOption("--election <name>", "the election, once for each (default: LEASEHOLD_ELECTION; else all are shown)"),
      )
      .addOption(collectedOption("--fleet <name>", "a fleet to show on the dashboard, once for each").default([], ""))
      .option("--http <address>", "where to listen, or unix:/path", DEFAULT_ADDRESS)
      .addOption(collectedOption("--http-host <name>", "a host name under which it is asked, once for each").default([], ""))
      .option("--id <id>", "this candidate's name (default: the host's name)")
      .option("--value <text>", "what others can read of the leader, such as its URL")
      .option("--lease <duration>", "how long rivals wait after the last renewal (default: 15s)", parseDuration)
      .option("--stall <duration>", "give the lease up unless POST /checkpoint comes so often", parseDuration)
      .option("--token-file <path>", "a file with the token for POST (default: LEASEHOLD_TOKEN)");
  },
  async act(command, environment) {
    const options = command.opts<Options>();
    const { clock } = environment;
    const address = parseHttpAddress(options.http);
    const elections = electionsOf(options, environment);
    const token = await tokenOf(options, environment);
    const { inform, tell, logger } = logOf(command, environment);
    using _watch = environment.watchNpx(tell);
    const isCandidate = elections.length > 0;
    const showsFleets = options.fleet.length > 0;
    const open = isCandidate || showsFleets ? openStore : openUsedStore;
    await using store = await open(command, environment);
    const listed = isCandidate || showsFleets ? undefined : new ElectionWatch(store, clock);
    const fleets = showsFleets ? new FleetWatch(store, options.fleet, clock) : undefined;
    await fleets?.check();
    const common = {
      store,
      clock,
      candidateId: options.id ?? hostname(),
      value: options.value,
      leaseDurationMs: options.lease,
      stallTimeoutMs: options.stall,
      logger,
    };
    const held = new Map<string, Leadership>();
    const ended = new AbortController();
    const signal = AbortSignal.any([environment.untilStopped(), ended.signal]);
    const candidates = elections.map((election) => new ServedElector(new Elector({ ...common, election }), clock));
    for (const candidate of candidates) sayWhoLeads(candidate, inform);
    const served = {
      candidates,
      fleets,
      listed,
      isStopping: () => signal.aborted,
      checkpoint: (election: string) => held.get(election)?.checkpoint(),
    };
    await using server = await startHttp({ address, served, rules: { hosts: options.httpHost, token }, clock });
    const names = [...elections, ...options.fleet].map((name) => `'${name}'`).join(", ");
    const what = listed ? "every election of the store" : `${names} as '${common.candidateId}'`;
    inform(`serving ${what} on ${server.url}`);
    const lead = async (leadership: Leadership): Promise<void> => {
      held.set(leadership.election, leadership);
      await leadership.ended;
    };
    const runs = candidates.map(async ({ elector }) => {
      // If one elector ends, end all of them, so that a supervisor notices.
      await elector.run(lead, { signal }).finally(() => ended.abort());
    });
    // Without a candidate it answers until it is stopped.
    if (runs.length === 0) runs.push(new Promise((resolve) => void onAbort(signal, () => resolve())));
    const settled = await waitUnlessStopped(Promise.allSettled(runs), { stopped: signal, clock });
    const failure = settled?.find((run) => run.status === "rejected");
    if (failure) throw failure.reason as Error;
    return EXIT.done;
  },
};

/** Prints a line for each change of the leader, and when the store answers again. */
function sayWhoLeads(candidate: ServedElector, inform: (line: string) => void): void {
  const { elector, election } = candidate;
  elector.on("startedLeading", ({ term }) => inform(`leading '${election}' in term ${term}.`));
  elector.on("newLeader", ({ leader }) => {
    if (!leader) inform(`nobody leads '${election}'.`);
    else if (leader.candidateId !== elector.candidateId) {
      inform(`'${printable(leader.candidateId)}' leads '${election}' in term ${leader.term}.`);
    }
  });
  let isFailing = false;
  candidate.onHappening(() => {
    const wasFailing = isFailing;
    isFailing = elector.health().lastError !== undefined;
    if (wasFailing && !isFailing) inform(`the store of '${election}' answers again.`);
  });
}

/** Returns the elections to campaign in. @throws {CommandError} if there is none, and an option is for candidates alone. */
function electionsOf(options: Options, { env }: ProcessEnvironment): readonly string[] {
  const { LEASEHOLD_ELECTION: fromEnvironment } = env;
  const elections = [...new Set(options.election ?? (fromEnvironment ? [fromEnvironment] : []))];
  if (elections.length > 0 || options.fleet.length > 0) return elections;
  const useless = (["id", "value", "lease", "stall"] as const).find((name) => options[name] !== undefined);
  if (useless === undefined) return elections;
  const advice = "give --election NAME or the variable LEASEHOLD_ELECTION";
  throw new CommandError(EXIT.usage, `--${useless} is for a candidate, and no election is named; ${advice}.`);
}

/**
 * Returns the token that changes need. The token is no option, because every user of a machine can read a process's arguments.
 */
async function tokenOf({ tokenFile, stall }: Options, { env }: ProcessEnvironment): Promise<string | undefined> {
  const token = tokenFile === undefined ? env["LEASEHOLD_TOKEN"]?.trim() : await fileContent("--token-file", tokenFile);
  if (token && !/\s/.test(token)) return token;
  if (token)
    throw new CommandError(EXIT.configuration, "the token has white space inside, which no header can carry; make another.");
  if (stall === undefined && tokenFile === undefined) return undefined;
  const why = tokenFile === undefined ? "--stall needs a token for POST /checkpoint" : `--token-file ${tokenFile} is empty`;
  throw new CommandError(EXIT.configuration, `${why}; put one into a file for --token-file, or into LEASEHOLD_TOKEN.`);
}
