import { ConfigurationError } from "../reporting/errors.ts";
import type { Leader } from "./leadership.ts";

/** The options of every waiting call. */
export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
}

/** The names of the options of every waiting call. */
export const WAIT_OPTIONS: Readonly<Record<keyof WaitOptions, true>> = { signal: true };

/** The name of a signal of the process, such as `SIGTERM`. */
export type StopSignal = `SIG${string}`;

/** The options of `run`. */
export interface RunOptions extends WaitOptions {
  /**
   * The process signals at which `run` stops, as by `stop()`: it drains, releases and resolves. A second signal has its usual
   * effect, and ends the process. @defaultValue none
   */
  readonly stopOn?: readonly StopSignal[] | undefined;
}

/** The names of the options of `run`. */
export const RUN_OPTIONS: Readonly<Record<keyof RunOptions, true>> = { signal: true, stopOn: true };

/** The options of `stop`. */
export interface StopOptions {
  /**
   * Delays the end of a leader on a store that standbys must poll: until just before their next poll. The delay is at most
   * `retryPeriodMs`.
   *
   * A standby then takes over about 0.1 s later, if the task settles within that time. A task that takes longer misses the poll,
   * and gains nothing on average. @defaultValue false
   */
  readonly planned?: boolean | undefined;
}

/** The names of the options of `stop`. */
export const STOP_OPTIONS: Readonly<Record<keyof StopOptions, true>> = { planned: true };

/** The outcome of `tryRun`. */
export type TryRunOutcome<T> =
  /** `result` is undefined if the task only rejected because its signal had aborted. */
  | { readonly elected: true; readonly term: number; readonly result: T | undefined }
  /**
   * - `busy`: this elector has another call under way; nothing was sent.
   * - `done`: the occurrence is complete, for good.
   * - `held-back`: nobody leads, but this candidate may not acquire now. The blocker is a minimum hold, a pause, or another
   *   candidate's reservation or transfer.
   *
   * Without a reason and without a leader, no leader is known, and the next attempt may win.
   */
  | {
      readonly elected: false;
      readonly reason?: "busy" | "done" | "held-back" | undefined;
      readonly leader?: Leader | undefined;
    };

/** @throws {ConfigurationError} for a task that is no function. */
export function checkTask(call: string, task: unknown): void {
  if (call === "run" && task instanceof Object && typeof task !== "function") {
    throw new ConfigurationError("run takes its options second. To lead until stopped, call run(undefined, { signal }).");
  }
  if (typeof task !== "function") throw new ConfigurationError(`${call} needs a task: a function that takes the leadership.`);
}
