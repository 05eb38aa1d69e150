import { isLeaseholdError } from "@leasehold/core";
import { EXIT } from "../exit-codes.ts";
import { exitCodeOfSignal, type ChildExit } from "./child.ts";
import type { RunOptions } from "./run-options.ts";
import { StopRequest } from "./stop-signals.ts";

/** How a term went. `ended`: why leadership ended, if it did before CMD. */
export interface TermOutcome {
  readonly exit: ChildExit | undefined;
  readonly ended: Error | undefined;
  /** Something of CMD is still there: the lease must not be released. */
  readonly overran: boolean;
}

/** Reports whether leadership ended although neither CMD nor a signal asked for it. */
export function isLossOf({ ended }: TermOutcome): boolean {
  return ended !== undefined && !(ended instanceof StopRequest);
}

/** Says what a person should know of a term that is over. Returns the exit code. */
export function tellHowItWent(outcome: TermOutcome, { tell, lostExitCode }: Pick<RunOptions, "tell" | "lostExitCode">): number {
  const { exit, ended, overran } = outcome;
  if (exit?.failure !== undefined) tell(`${exit.failure}.`);
  // That a lease is lost, the elector itself has said.
  if (isLossOf(outcome) && !isLeaseholdError(ended, "LEASE_LOST")) tell((ended as Error).message);
  if (overran) {
    tell("something that the command started is still there after SIGKILL; the lease is left to expire.");
    return EXIT.leadershipEnded;
  }
  if (isLossOf(outcome)) return lostExitCode;
  return exit?.code ?? (ended instanceof StopRequest ? exitCodeOfSignal(ended.signal) : lostExitCode);
}

/** Returns the exit code of a wrapper that was asked to stop before it had a command to run. */
export function exitCodeOfStop({ reason }: AbortSignal): number {
  return reason instanceof StopRequest ? exitCodeOfSignal(reason.signal) : EXIT.leadershipEnded;
}
