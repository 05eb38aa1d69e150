import { isLeaseholdError } from "@leasehold/core";
import { EXIT } from "../exit-codes.ts";
import { exitCodeOfSignal, type ChildExit } from "./child.ts";
import type { RunOptions } from "./run-options.ts";
import { StopRequest } from "./stop-signals.ts";

/** The result of a term of `run`. */
export interface TermOutcome {
  readonly exit: ChildExit | undefined;
  /** Why leadership ended, if it ended before CMD. */
  readonly ended: Error | undefined;
  /** True: a process of CMD is still there, so the lease must not be released. */
  readonly overran: boolean;
}

/** Reports whether leadership ended before CMD did, without a stop signal. This includes `POST /resign`. */
export function isLossOf({ ended }: TermOutcome): boolean {
  return ended !== undefined && !(ended instanceof StopRequest);
}

/** Prints what people should know about a term that is over. Returns the exit code. */
export function tellHowItWent(outcome: TermOutcome, { tell, lostExitCode }: Pick<RunOptions, "tell" | "lostExitCode">): number {
  const { exit, ended, overran } = outcome;
  if (exit?.failure !== undefined) tell(`${exit.failure}.`);
  // The elector itself has reported LEASE_LOST.
  if (isLossOf(outcome) && !isLeaseholdError(ended, "LEASE_LOST")) tell((ended as Error).message);
  if (overran) {
    tell("something that the command started is still there after SIGKILL; the lease is left to expire.");
    return EXIT.leadershipEnded;
  }
  if (isLossOf(outcome)) return lostExitCode;
  return exit?.code ?? (ended instanceof StopRequest ? exitCodeOfSignal(ended.signal) : lostExitCode);
}

/** Returns the exit code of a wrapper that a signal stopped: 128 plus the number of the signal. */
export function exitCodeOfStop({ reason }: AbortSignal): number {
  return reason instanceof StopRequest ? exitCodeOfSignal(reason.signal) : EXIT.leadershipEnded;
}
