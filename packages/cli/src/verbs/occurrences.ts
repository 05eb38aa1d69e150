import { isLeaseholdError, type LeaseSnapshot, type LeaseStore, type ListedElection } from "@leasehold/core";
import { type Completion, DEFAULT_RETENTION_MS, occurrencesOf } from "@leasehold/core/occurrences";
import type { Command } from "commander";
import { confirm, printResult, shown, signed } from "../admin-command.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { addElectionOption, electionOf, addStoreOptions, openUsedStore } from "../target-options.ts";
import { listedElections, ageOf, look } from "../snapshots.ts";
import { table, textOfLines } from "../table.ts";
import { clipped, printable } from "../text.ts";
import type { ProcessEnvironment, Verb } from "../verb.ts";

/** One occurrence, for programs. `result`, `failure` and `skipped` are what was recorded with its end. */
interface ShownOccurrence extends Completion {
  readonly key: string;
  /** `running`: a candidate has claimed it. `open`: its task threw or its claim ran out, so the next delivery runs it. `failed`: no host tries it again. `skipped`: it is over without a run. */
  readonly state: "done" | "failed" | "skipped" | "running" | "open" | "unknown" | "foreign";
  /** The number of the last attempt, from 1. */
  readonly attempt: number;
  readonly holder?: string | undefined;
  readonly age: string;
  /** The reason of the administrator who opened it again. Absent from the next claim on. */
  readonly reason?: string | undefined;
}

/** The hold after `--reopen`. It is short, because no process holds the lease of an occurrence that is done. */
const NO_LEASE_MS = 1_000;

/** Prints what was done of a schedule, what runs, and what is open again. With `--reopen` it opens one occurrence again. */
export const verb: Verb = {
  define(command) {
    addElectionOption(addStoreOptions(command))
      .argument("[schedule]", "its name: the election of `run --occurrence` (default: LEASEHOLD_ELECTION)")
      .argument("[key]", "one occurrence: the key of `run --occurrence`, or the time at which it was due")
      .option("--reopen <reason>", "let the next host that asks run one again that is over; the reason is recorded")
      .option("--yes", "do not ask")
      .option("--json", "print JSON");
  },
  async act(command, environment) {
    const [name, key] = command.processedArgs as [string | undefined, string | undefined];
    const { json, reopen: reason } = command.opts<{ readonly json?: true; readonly reopen?: string }>();
    const schedule = electionOf(command, environment, name);
    await using store = await openUsedStore(command, environment);
    const occurrences = occurrencesOf(store, schedule, DEFAULT_RETENTION_MS, "occurrences");
    const prefix = `${schedule}@`;
    if (reason !== undefined) {
      if (key === undefined) throw new CommandError(EXIT.usage, "--reopen needs the key of one occurrence.");
      const found = await oneOf(occurrences, schedule, key);
      await checkNotPaused(store, schedule);
      await reopen(occurrences, found, signed(reason, environment), command, environment);
      printResult(command, environment, `${printable(found.election)} is open again; the next host that asks runs it.`, { key });
      return EXIT.done;
    }
    const found =
      key === undefined
        ? await allOf(occurrences, schedule, environment.untilStopped())
        : [await oneOf(occurrences, schedule, key)];
    const all = found.map((each) => occurrenceOf(each, prefix));
    environment.stdout.write(json ? `${JSON.stringify(all)}\n` : tableOf(all));
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

/** @throws {CommandError} if the schedule is paused: the next host would record the occurrence as skipped, without a run. */
async function checkNotPaused(store: LeaseStore, schedule: string): Promise<void> {
  const { bar } = (await look(store, schedule)) ?? {};
  if (bar?.kind !== "pause") return;
  throw new CommandError(EXIT.notElected, `'${schedule}' is paused; resume it first: leasehold resume '${schedule}'.`);
}

/** Lets the next host that asks run an occurrence again. @throws {CommandError} if it is not done, or no answer is yes. */
async function reopen(
  occurrences: LeaseStore,
  found: LeaseSnapshot,
  reason: string,
  command: Command,
  environment: ProcessEnvironment,
): Promise<void> {
  const { election, term, bar } = found;
  if (bar?.kind !== "done") throw new CommandError(EXIT.notElected, `'${election}' is not done: there is nothing to reopen.`);
  environment.stderr.write(`${shown(found)}\n`);
  await confirm(command, environment, "Let a host run it again?");
  const { repaired } = await occurrences.repair(election, { minTerm: term + 1, leaseDurationMs: NO_LEASE_MS, reason });
  if (!repaired) throw new CommandError(EXIT.notElected, `'${election}' runs already: nothing was changed.`);
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
  const { endingReason: reason } = found;
  return { key, state: isOpen ? "open" : "running", attempt, holder, age: isOpen ? "" : ageOf(found), reason };
}

function tableOf(all: readonly ShownOccurrence[]): string {
  const rows = all.map(({ key, state, attempt, holder = "", age, failure, skipped, reason }) => [
    printable(key),
    state,
    String(attempt),
    clipped(printable(holder)),
    age,
    clipped(printable(failure ?? skipped ?? reason ?? "")),
  ]);
  return textOfLines(table(["KEY", "STATE", "ATTEMPT", "HOST", "AGE", "NOTE"], rows));
}
