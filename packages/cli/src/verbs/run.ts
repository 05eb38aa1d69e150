import { constants } from "node:os";
import { InvalidArgumentError, Option } from "commander";
import { parseDuration } from "../duration.ts";
import { addElectionOption, electionOf, addStoreOptions, openStore } from "../target-options.ts";
import { EXIT, CommandError } from "../exit-codes.ts";
import { addLogOptions, logOf } from "../log-options.ts";
import { ignoresHangup } from "../run/hangup.ts";
import { run } from "../run/run.ts";
import type { RunOptions } from "../run/run-options.ts";
import type { Verb } from "../verb.ts";

interface Options {
  readonly wait?: number;
  readonly grace: number;
  readonly signal: NodeJS.Signals;
  readonly restart: RunOptions["restart"];
  readonly lease?: number;
  readonly id?: string;
  readonly value?: string;
  readonly stall?: number;
  readonly lostExitCode: number;
  readonly conflictExitCode: number;
  readonly inheritSecrets: boolean;
  readonly occurrence?: string;
  readonly http?: string;
  readonly fleet?: string;
  readonly shards?: number;
  readonly atMost?: number;
  readonly maxShards?: number;
  readonly priority?: number;
}

/** The options that only a member of a fleet has, and those that it has not. */
const OF_FLEETS = ["shards", "atMost", "maxShards", "priority"] as const;
const NOT_OF_FLEETS = ["election", "occurrence", "restart", "wait", "value", "lostExitCode", "conflictExitCode"];
/** A command starts for each shard, so the last member that lives must not start all of them. */
const MAX_SHARDS = 16;

/** Runs a command only while this candidate leads. */
export const verb: Verb = {
  define(command) {
    addLogOptions(addElectionOption(addStoreOptions(command)))
      .option("--wait <duration>", "give up if not elected by then; 0s: try once", parseDuration)
      .addOption(
        new Option("--grace <duration>", "the longest that the command may take to end")
          .argParser(parseDuration)
          .default(8_000, "8s"),
      )
      .option("--signal <name>", "what the command gets when leadership is lost", parseSignal, "SIGTERM")
      .addOption(new Option("--restart <when>", "campaign again").choices(["never", "on-loss", "always"]).default("never"))
      .option("--lease <duration>", "how long rivals wait after the last renewal (default: 15s; 30s for --fleet)", parseDuration)
      .option("--id <name>", "this candidate, for people (default: <host>-<pid>-<random>)")
      .option("--value <text>", "what others read while this candidate leads")
      .option("--stall <duration>", "give up if POST /checkpoint stays away for so long", parseDuration)
      .option("--inherit-secrets", "give the command LEASEHOLD_STORE and LEASEHOLD_VOTING_SECRET", false)
      .option("--lost-exit-code <code>", "when leadership ends", parseExitCode, EXIT.leadershipEnded)
      .option("--conflict-exit-code <code>", "when not elected", parseExitCode, EXIT.notElected)
      .addOption(
        new Option(
          "--occurrence <key>",
          "run the command once for this key, such as a tick or a version; with --wait other hosts wait for its end",
        ).conflicts(["restart", "http"]),
      )
      .option("--http <address>", "answer over HTTP who leads, as serve does; for --fleet: metrics")
      .addOption(
        new Option("--fleet <name>", "run the command once for each shard that this member of a fleet holds").conflicts(
          NOT_OF_FLEETS,
        ),
      )
      .option("--shards <count>", "the number of shards, for --fleet", parseCount)
      .addOption(
        new Option("--at-most <count>", "at most so many members run the command, for --fleet")
          .argParser(parseCount)
          .conflicts(["shards", "maxShards"]),
      )
      .option("--max-shards <count>", `the most shards of this member, for --fleet (default: ${MAX_SHARDS})`, parseCount)
      .option("--priority <number>", "the members of the highest priority get all that they take, for --fleet", parseWhole)
      .argument("<command...>", "the command and its arguments, after --")
      .passThroughOptions()
      .addHelpText(
        "after",
        `
A stop of a member of a fleet takes up to half a lease plus --grace, because its shards are handed over first. A second signal
goes to all commands at once. Give the supervisor 60 s, or take a shorter --lease: docker stop gives only 10 s.`,
      );
  },
  async act(command, environment) {
    if (process.platform === "win32") {
      throw new CommandError(EXIT.configuration, "run needs process groups and signals, which Windows has not; use serve there.");
    }
    const { wait, grace, signal, lease, id, stall, occurrence, http, fleet, shards, ...others } = command.opts<Options>();
    const { atMost, maxShards, priority, ...rest } = others;
    const stray = OF_FLEETS.find((name) => fleet === undefined && command.getOptionValue(name) !== undefined);
    if (stray !== undefined) throw new CommandError(EXIT.usage, `--${dashed(stray)} needs --fleet NAME.`);
    if (fleet !== undefined && (shards ?? atMost) === undefined)
      throw new CommandError(EXIT.usage, "--fleet needs --shards COUNT or --at-most COUNT.");
    const election = fleet ?? electionOf(command, environment);
    if (occurrence === "") throw new CommandError(EXIT.usage, "the key of --occurrence is empty; is a variable not set?");
    const log = logOf(command, environment);
    using _watch = environment.watchNpx(log.tell);
    await using store = await openStore(command, environment);
    const options: RunOptions = {
      ...rest,
      store,
      election,
      command: command.args as [string, ...string[]],
      waitMs: wait,
      graceMs: grace,
      lossSignal: signal,
      ignoresHangup: ignoresHangup({ env: environment.env, parent: process.ppid }),
      leaseDurationMs: lease,
      candidateId: id,
      stallTimeoutMs: stall,
      ...log,
      serve: http === undefined ? undefined : serveAt(http),
    };
    if (fleet !== undefined) {
      const { runFleet } = await import("../run/run-fleet.ts");
      const most = atMost === undefined ? (maxShards ?? MAX_SHARDS) : undefined;
      return await runFleet({ fleet, shards, atMost, maxShards: most, priority }, options);
    }
    if (occurrence === undefined) return await run(options);
    const { runOccurrence } = await import("../run/run-occurrence.ts");
    return await runOccurrence(occurrence, options);
  },
};

/** Returns a function that starts the HTTP server. The function loads the server's module only when it is called. */
function serveAt(address: string): NonNullable<RunOptions["serve"]> {
  return async (elector, stopped) => {
    const { serveElector } = await import("../run/run-http.ts");
    return await serveElector(elector, { address, stopped });
  };
}

function parseSignal(text: string): NodeJS.Signals {
  const name = /^SIG/i.test(text) ? text.toUpperCase() : `SIG${text.toUpperCase()}`;
  if (Object.hasOwn(constants.signals, name)) return name as NodeJS.Signals;
  throw new InvalidArgumentError("It must be the name of a signal, such as TERM or INT.");
}

function parseCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number, such as 64.");
}

function parseWhole(text: string): number {
  if (/^-?\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number, such as 2 or -1.");
}

function dashed(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function parseExitCode(text: string): number {
  const code = Number(text);
  if (/^\d+$/.test(text) && code <= 255) return code;
  throw new InvalidArgumentError("It must be a whole number from 0 to 255.");
}
