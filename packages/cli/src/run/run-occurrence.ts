import { Elector, isLeaseholdError, type OccurrenceLeadership } from "@leasehold/core";
import { systemClock, sleep } from "@leasehold/core/provider";
import { attempt, completeWhileClaimed, DEFAULT_RETENTION_MS, occurrencesOf } from "@leasehold/core/occurrences";
import { EXIT } from "../exit-codes.ts";
import { printable } from "../text.ts";
import { commandPath } from "./command-path.ts";
import { checkPlan } from "./kill-deadlines.ts";
import { candidacyOf, type RunOptions } from "./run-options.ts";
import { waitUnlessStopped } from "./stop-limit.ts";
import { StopRequest, StopSignals } from "./stop-signals.ts";
import { runTerm } from "./term.ts";
import { exitCodeOfStop, tellHowItWent, type TermOutcome } from "./term-outcome.ts";

/** The first wait for an occurrence that another host has claimed. It doubles up to the renew interval, a third of the lease. */
const FIRST_WAIT_MS = 250;

const clock = systemClock;

/**
 * Runs a command once for a key, on the first of many hosts that asks. The exit code is 0 if the occurrence is done, here or on
 * another host. It is 70 if the last try of a program that uses `oncePerOccurrence` has failed. The occurrence is done once the command has ended with 0. After any other end, the next host that asks runs it.
 *
 * @throws as `run` does. {UnsupportedError} if the store has no occurrences.
 */
export async function runOccurrence(key: string, options: RunOptions): Promise<number> {
  const { store, election, tell, inform, waitMs = 0, conflictExitCode, lostExitCode } = options;
  const occurrences = occurrencesOf(store, election, DEFAULT_RETENTION_MS, "run --occurrence");
  const elector = new Elector({ ...candidacyOf(options), store: occurrences, election: `${election}@${key}` });
  checkPlan(elector.timing);
  const path = commandPath(options.command[0]);
  using signals = new StopSignals(options.ignoresHangup);
  const { stopped } = signals;
  const overran = Promise.withResolvers<number>();
  const term = Promise.withResolvers<TermOutcome>();
  let isRunning = false;
  let exitCode: number | undefined;
  const task = async (leadership: OccurrenceLeadership): Promise<number> => {
    isRunning = true;
    term.resolve(runTerm(leadership, { elector, path, signals, clock, run: options }));
    const outcome = await term.promise;
    exitCode = tellHowItWent(outcome, options);
    if (outcome.overran) {
      overran.resolve(exitCode);
      // A process of the command is still there. The task never settles, so the claim is not released and expires.
      return await new Promise<never>(() => {});
    }
    if (exitCode !== EXIT.done) return exitCode;
    // A command whose leadership ended before it is not done, even if its exit code is 0.
    if (outcome.ended) return outcome.ended instanceof StopRequest ? exitCodeOfStop(stopped) : exitCode;
    return await complete(leadership, tell);
  };
  const { leaseDurationMs, renewIntervalMs } = elector.timing;
  const endMs = clock.monotonicMs() + waitMs;
  const idle = async (): Promise<unknown> => isRunning && (await term.promise);
  for (let nextMs = FIRST_WAIT_MS; ; nextMs = Math.min(2 * nextMs, renewIntervalMs)) {
    const tried = attempt(elector, task, { clock, signal: stopped });
    const decided = waitUnlessStopped(Promise.race([tried, overran.promise]), { stopped, clock, idle });
    const outcome = await decided.catch(async (error: unknown) => {
      // The elector no longer waits for the task, but `runTerm` is still ending the command.
      if (isLeaseholdError(error, "DRAIN_TIMEOUT") && (await term.promise).overran) return await overran.promise;
      if (stopped.aborted) return exitCodeOfStop(stopped);
      throw error;
    });
    // Exit code 0 of the command counts only once the store has recorded it.
    if (outcome === undefined) return exitCode === EXIT.done ? exitCodeOfStop(stopped) : (exitCode ?? exitCodeOfStop(stopped));
    if (typeof outcome === "number") return outcome;
    if (outcome.elected) return outcome.result ?? exitCodeOfStop(stopped);
    if ("unavailable" in outcome) throw outcome.unavailable;
    if (outcome.reason === "done") {
      const { failure, skipped } = outcome.completion ?? {};
      if (failure !== undefined) {
        tell(`'${key}' of '${election}' has failed (${printable(failure)}), and no host tries it again.`);
        return lostExitCode;
      }
      inform(`'${key}' of '${election}' ${skipped === undefined ? "is done already" : `was skipped (${printable(skipped)})`}.`);
      return EXIT.done;
    }
    const leftMs = endMs - clock.monotonicMs();
    if (leftMs <= 0) {
      inform(`'${key}' of '${election}' is in progress elsewhere; it is open again ${leaseDurationMs / 1_000} s after a crash.`);
      return conflictExitCode;
    }
    await sleep(clock, Math.min(nextMs, leftMs), stopped).catch(() => undefined);
    if (stopped.aborted) return exitCodeOfStop(stopped);
  }
}

/** Records that the occurrence is done. Retries for as long as the claim lasts. */
async function complete(leadership: OccurrenceLeadership, tell: (line: string) => void): Promise<number> {
  try {
    await completeWhileClaimed(leadership, clock, Infinity);
    return EXIT.done;
  } catch (error) {
    tell((error as Error).message);
    return isLeaseholdError(error, "LEASE_LOST") ? EXIT.leadershipEnded : EXIT.store;
  }
}
