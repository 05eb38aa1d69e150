import { timing, type Elector, type ElectorOptions, type LeaseStore, type Logger } from "@leasehold/core";

/** The options of `run`. The command line has checked each one by itself. All durations are in milliseconds. */
export interface RunOptions {
  readonly store: LeaseStore;
  readonly election: string;
  /** CMD and its arguments, as they were given. */
  readonly command: readonly [string, ...string[]];
  /** @defaultValue `<host>-<pid>-<random>` */
  readonly candidateId?: string | undefined;
  readonly value?: string | undefined;
  readonly leaseDurationMs?: number | undefined;
  readonly stallTimeoutMs?: number | undefined;
  /** The longest wait to lead. 0 means one attempt. @defaultValue for ever */
  readonly waitMs?: number | undefined;
  /** The longest time that CMD may take to end once it was asked to. */
  readonly graceMs: number;
  /** True: CMD's environment keeps the store's URL and the secret of voting servers. */
  readonly inheritSecrets: boolean;
  /** Variables for CMD beside those of its term. It then shares its terminal with other commands, and has no input. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** The signal that CMD gets when leadership is lost. */
  readonly lossSignal: NodeJS.Signals;
  /** True: the wrapper ignores HUP, and does not pass it on to CMD. */
  readonly ignoresHangup: boolean;
  /** When to campaign again: never, after a loss of leadership, or after each end of CMD. */
  readonly restart: "never" | "on-loss" | "always";
  readonly lostExitCode: number;
  readonly conflictExitCode: number;
  /** Prints a line about the normal course. */
  readonly inform: (line: string) => void;
  /** Prints a line about something that has gone wrong. */
  readonly tell: (line: string) => void;
  readonly logger: Logger;
  /** Starts an HTTP server that answers who leads; without an elector only metrics. It runs until it is disposed of. */
  readonly serve?: ((elector: Elector | undefined, stopped: AbortSignal) => Promise<AsyncDisposable>) | undefined;
}

/** Returns the elector's options that describe the candidate. */
export function candidacyOf(options: RunOptions): Omit<ElectorOptions, "store" | "election"> {
  const { candidateId, value, leaseDurationMs, stallTimeoutMs, graceMs, logger } = options;
  return {
    candidateId,
    value,
    leaseDurationMs,
    stallTimeoutMs,
    // If a process of CMD is left by then, it has survived KILL for about a lease.
    drainTimeoutMs: graceMs + (leaseDurationMs ?? timing().leaseDurationMs),
    logger,
  };
}
