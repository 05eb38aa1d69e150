import { Elector, type HeldLeadership, type Leader } from "@leasehold/core";
import { systemClock, sleep } from "@leasehold/core/provider";
import { printable } from "../text.ts";
import { commandPath } from "./command-path.ts";
import { checkPlan } from "./kill-deadlines.ts";
import { RestartWait } from "./restart-wait.ts";
import { candidacyOf, type RunOptions } from "./run-options.ts";
import { CANDIDATE_MS, waitUnlessStopped } from "./stop-limit.ts";
import { StopSignals } from "./stop-signals.ts";
import { runTerm } from "./term.ts";
import { exitCodeOfStop, isLossOf, tellHowItWent } from "./term-outcome.ts";
import { TimeUp } from "./time-up.ts";

/**
 * Runs a command only while this candidate leads, and returns the exit code. When `run` throws, no command runs.
 *
 * @throws {Failure} if there is no such command.
 * @throws {ConfigurationError | UnsupportedError} for options that cannot work.
 * @throws {StoreError} if the store refuses a request, or could not be reached within `waitMs`.
 */
export async function run(options: RunOptions): Promise<number> {
  const { inform, restart, conflictExitCode } = options;
  const clock = systemClock;
  const elector = new Elector({ ...candidacyOf(options), store: options.store, election: options.election });
  checkPlan(elector.timing);
  const path = commandPath(options.command[0]);
  using signals = new StopSignals(options.ignoresHangup);
  await using _server = await options.serve?.(elector, signals.stopped);
  const { stopped } = signals;
  const restartWait = new RestartWait();
  for (;;) {
    const leadership = await waitUnlessStopped(elected(elector, options, stopped), { stopped, clock, mostMs: CANDIDATE_MS });
    if (!leadership) {
      if (stopped.aborted) return exitCodeOfStop(stopped);
      inform(notElected(elector));
      return conflictExitCode;
    }
    const startedMs = clock.monotonicMs();
    const outcome = await runTerm(leadership, { elector, path, signals, clock, run: options });
    const exitCode = tellHowItWent(outcome, options);
    if (outcome.overran) return exitCode;
    await waitUnlessStopped(leadership.release(), { stopped, clock });
    const isOver = stopped.aborted || outcome.exit?.failure !== undefined;
    if (isOver || restart === "never" || (restart === "on-loss" && !isLossOf(outcome))) return exitCode;
    const waitMs = restartWait.after(clock.monotonicMs() - startedMs, elector.timing.leaseDurationMs);
    await sleep(clock, waitMs, stopped).catch(() => undefined);
    if (stopped.aborted) return exitCodeOfStop(stopped);
  }
}

/** Returns the leadership. Undefined if it was not won in time, or if this process was asked to stop before. */
async function elected(
  elector: Elector,
  { waitMs, inform }: RunOptions,
  stopped: AbortSignal,
): Promise<HeldLeadership | undefined> {
  if (stopped.aborted) return undefined;
  try {
    if (waitMs === 0) return await elector.tryCampaign({ signal: stopped });
    const forgetLeader = tellWhoLeads(elector, inform);
    const timeUp = new TimeUp(elector, waitMs);
    try {
      return await elector.campaign({ signal: AbortSignal.any([stopped, timeUp.signal]) });
    } catch (error) {
      if (error === timeUp.signal.reason) return timeUp.end();
      throw error;
    } finally {
      timeUp.cancel();
      forgetLeader();
    }
  } catch (error) {
    if (stopped.aborted) return undefined;
    throw error;
  }
}

/** Prints once which leader this candidate waits for. */
function tellWhoLeads(elector: Elector, tell: (line: string) => void): () => void {
  const forget = elector.on("newLeader", ({ leader }) => {
    if (!leader || leader.candidateId === elector.candidateId) return;
    tell(`waiting to lead '${elector.election}' as '${printable(elector.candidateId)}'; ${leads(leader)}.`);
    forget();
  });
  return forget;
}

function notElected({ election, leader }: Elector): string {
  return `not elected in '${election}'; ${leader ? leads(leader) : "nobody is known to lead it"}.`;
}

function leads({ candidateId, term }: Leader): string {
  return `'${printable(candidateId)}' leads it in term ${term}`;
}
