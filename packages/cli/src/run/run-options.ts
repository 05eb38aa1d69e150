import type { Elector, ElectorOptions, LeaseStore, Logger } from "@leasehold/core";

/** What `run` was asked to do, checked as far as the command line goes. All durations are in milliseconds. */
export interface RunOptions {
  readonly store: LeaseStore;
  readonly election: string;
  /** CMD and its arguments, as they were given. */
  readonly command: readonly [string, ...string[]];
  /** @defaultValue `<host>-<pid>-<random>` */
  readonly candidateId?: string | undefined;
  readonly value?: string | undefined;
  readonly leaseDurationMs?: number | undefined;
  readonly minimumHoldMs?: number | undefined;
  readonly stallTimeoutMs?: number | undefined;
  /** The longest wait to lead; 0 is one attempt. @defaultValue for ever */
  readonly waitMs?: number | undefined;
  /** The longest that CMD may take to end once it was asked to. */
  readonly graceMs: number;
  /** Whether CMD finds the store's URL and the secret of voters in its environment. */
  readonly inheritSecrets: boolean;
  /** What CMD gets when leadership is lost. */
  readonly lossSignal: NodeJS.Signals;
  /** Whether HUP does nothing, to the wrapper and to CMD. */
  readonly ignoresHangup: boolean;
  /** Whether to campaign again: never, once leadership was lost, or whenever CMD has ended. */
  readonly restart: "never" | "on-loss" | "always";
  readonly lostExitCode: number;
  readonly conflictExitCode: number;
  /** Says to people what is as it should be. */
  readonly inform: (line: string) => void;
  /** Says to people what has gone wrong. */
  readonly tell: (line: string) => void;
  readonly logger: Logger;
  /** Answers over HTTP who leads, until it is disposed of. */
  readonly serve?: ((elector: Elector, stopped: AbortSignal) => Promise<AsyncDisposable>) | undefined;
}

/** Returns what an elector is told of the candidate. */
export function candidacyOf(options: RunOptions): Omit<ElectorOptions, "store" | "election"> {
  const { candidateId, value, leaseDurationMs, minimumHoldMs, stallTimeoutMs, graceMs, logger } = options;
  return {
    candidateId,
    value,
    leaseDurationMs,
    minimumHoldMs,
    stallTimeoutMs,
    // What is left of CMD by then has been killed for about a lease, and lives.
    drainTimeoutMs: graceMs + (leaseDurationMs ?? DEFAULT_LEASE_MS),
    logger,
  };
}

/** An elector's own. */
const DEFAULT_LEASE_MS = 15_000;
