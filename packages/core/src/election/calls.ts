import { ConfigurationError } from "../reporting/errors.ts";
import type { Completion } from "../store/lease-snapshot.ts";
import type { OptionNames } from "../store/options.ts";
import type { Leader } from "./leadership.ts";

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
}

export const WAIT_OPTIONS: OptionNames<WaitOptions> = { signal: true };

/** The name of a signal of the process, such as `SIGTERM`. */
export type StopSignal = `SIG${string}`;

export interface RunOptions extends WaitOptions {
  /** The process signals at which `run` stops, as by `stop()`. A second signal ends the process. @defaultValue none */
  readonly stopOn?: readonly StopSignal[] | undefined;
}

export const RUN_OPTIONS: OptionNames<RunOptions> = { signal: true, stopOn: true };

export interface StopOptions {
  /**
   * On a store that standbys must poll, delays a leader's end until just before their next poll, by at most `retryPeriodMs`. A
   * task that settles within 0.1 s then has a successor at once. A slower task gains nothing. @defaultValue false
   */
  readonly planned?: boolean | undefined;
}

export const STOP_OPTIONS: OptionNames<StopOptions> = { planned: true };

export function doneOutcome({ completion }: { readonly completion?: Completion | undefined }): TryRunOutcome<never> {
  return { elected: false, reason: "done", ...(completion ? { completion } : {}) };
}

export type TryRunOutcome<T> =
  /** `result` is undefined if the task only rejected because its signal had aborted. */
  | { readonly elected: true; readonly term: number; readonly result: T | undefined }
  /**
   * - `busy`: this elector has another call under way; nothing was sent.
   * - `done`: the occurrence is complete, for good. `completion` has the facts that were recorded with its end.
   * - `held-back`: nobody leads, but a hold, a pause, a reservation or a transfer blocks this candidate.
   *
   * If `reason` and `leader` are both absent, no leader is known, and the next attempt may win.
   */
  | {
      readonly elected: false;
      readonly reason?: "busy" | "done" | "held-back" | undefined;
      readonly leader?: Leader | undefined;
      readonly completion?: Completion | undefined;
    };

export function checkTask(call: string, task: unknown): void {
  if (call === "run" && task instanceof Object && typeof task !== "function") {
    throw new ConfigurationError("run takes its options second. To lead until stopped, call run(undefined, { signal }).");
  }
  if (typeof task !== "function") throw new ConfigurationError(`${call} needs a task: a function that takes the leadership.`);
}
