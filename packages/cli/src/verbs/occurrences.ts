import { isLeaseholdError, type LeaseSnapshot, type LeaseStore, type ListedElection } from "@leasehold/core";
import { type Completion, DEFAULT_RETENTION_MS, occurrencesOf } from "@leasehold/core/occurrences";
import { CommandError } from "../command-error.ts";
import { addElectionOption, electionOf } from "../election-option.ts";
import { EXIT } from "../exit-codes.ts";
import { listedElections } from "../listed-elections.ts";
import { ageOf, look } from "../snapshot-text.ts";
import { addStoreOptions, openUsedStore } from "../store-option.ts";
import { table } from "../table.ts";
import { clipped, printable } from "../text.ts";
import type { Verb } from "../verb.ts";

/** One occurrence, for programs. `result`, `failure` and `skipped` are what was recorded with its end. */
interface ShownOccurrence extends Completion {
  readonly key: string;
  /** `running`: a candidate has claimed it. `open`: its task threw or its claim ran out, so the next delivery runs it. `failed`: no host tries it again. `skipped`: it is over without a run. */
  readonly state: "done" | "failed" | "skipped" | "running" | "open" | "unknown" | "foreign";
  /** The number of the last attempt, from 1. */
  readonly attempt: number;
  readonly holder?: string | undefined;
  readonly age: string;
}

/** Prints what was done of a schedule, what runs, and what is open again. */
export const verb: Verb = {
  define(command) {
    addElectionOption(addStoreOptions(command))
      .argument("[schedule]", "its name: the election of `run --occurrence` (default: LEASEHOLD_ELECTION)")
      .argument("[key]", "one occurrence: the key of `run --occurrence`, or the time at which it was due")
      .option("--json", "print JSON");
  },
  async act(command, environment) {
    const [name, key] = command.processedArgs as [string | undefined, string | undefined];
    const { json } = command.opts<{ readonly json?: true }>();
    const schedule = electionOf(command, environment, name);
    await using store = await openUsedStore(command, environment);
    const occurrences = occurrencesOf(store, schedule, DEFAULT_RETENTION_MS, "occurrences");
    const prefix = `${schedule}@`;
    const found =
      key === undefined
        ? await allOf(occurrences, schedule, environment.untilStopped())
        : [await oneOf(occurrences, schedule, key)];
    const shown = found.map((each) => occurrenceOf(each, prefix));
    environment.stdout.write(json ? `${JSON.stringify(shown)}\n` : tableOf(shown));
    return EXIT.done;
  },
};

async function allOf(occurrences: LeaseStore, schedule: string, signal: AbortSignal): Promise<readonly ListedElection[]> {
  try {
    return await listedElections(occurrences, `${schedule}@`, signal);
  } catch (error) {
    if (!isLeaseholdError(error, "UNSUPPORTED")) throw error;
    throw new CommandError(
      EXIT.configuration,
      `${occurrences.name} cannot list the occurrences of '${schedule}'; name one: occurrences '${schedule}' KEY.`,
    );
  }
}

async function oneOf(occurrences: LeaseStore, schedule: string, key: string): Promise<LeaseSnapshot> {
  const snapshot = await look(occurrences, `${schedule}@${key}`);
  if (snapshot) return snapshot;
  throw new CommandError(
    EXIT.nobodyLeads,
    `no host has begun the occurrence '${key}' of '${schedule}', or it is no longer kept.`,
  );
}

function occurrenceOf(found: ListedElection, prefix: string): ShownOccurrence {
  const key = found.election.slice(prefix.length);
  if (found.state === "foreign") return { key, state: "foreign", attempt: 0, age: "" };
  const { state, term: attempt, holder, bar } = found;
  if (bar?.kind === "done") {
    const { failure, skipped } = bar.completion ?? {};
    const end = failure !== undefined ? "failed" : skipped === undefined ? "done" : "skipped";
    return { key, state: end, attempt, holder, age: "", ...bar.completion };
  }
  if (state === "unknown") return { key, state, attempt, holder, age: ageOf(found) };
  const isOpen = state === "vacant" || state === "expired";
  return { key, state: isOpen ? "open" : "running", attempt, holder, age: isOpen ? "" : ageOf(found) };
}

function tableOf(shown: readonly ShownOccurrence[]): string {
  const rows = shown.map(({ key, state, skipped, attempt, holder = "", age }) => [
    printable(key),
    skipped === undefined ? state : `${state} (${printable(skipped)})`,
    String(attempt),
    clipped(printable(holder)),
    age,
  ]);
  return table(["KEY", "STATE", "ATTEMPT", "HOST", "AGE"], rows)
    .map((line) => `${line}\n`)
    .join("");
}
