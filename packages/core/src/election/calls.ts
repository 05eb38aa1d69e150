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
   * The signals of the process at which `run` stops, as by `stop()`: it drains, releases and resolves. A second one does what it does
   * without this, and ends the process. @defaultValue none
   */
  readonly stopOn?: readonly StopSignal[] | undefined;
}

/** The names of the options of `run`. */
export const RUN_OPTIONS: Readonly<Record<keyof RunOptions, true>> = { signal: true, stopOn: true };

/** The options of `stop`. */
export interface StopOptions {
  /**
   * Where standbys have to poll the store, has a leader go on until right before their next look, for no longer than their
   * `retryPeriodMs`: one of them then takes over a tenth of a second later, if the task settles within that. One that takes longer
   * misses the look, and gains nothing on average. @defaultValue false
   */
  readonly planned?: boolean | undefined;
}

/** The names of the options of `stop`. */
export const STOP_OPTIONS: Readonly<Record<keyof StopOptions, true>> = { planned: true };

/** The outcome of `tryRun`. */
export type TryRunOutcome<T> =
  /** `result` is undefined where the task was stopped by its signal and said so by rejecting. */
  | { readonly elected: true; readonly term: number; readonly result: T | undefined }
  /**
   * `busy`: this elector itself was at work; nothing was sent. `done`: it is an occurrence, which is done for good. `held-back`:
   * nobody leads, and it is not this candidate's turn: a minimum hold, another's reservation or hand-over. With neither a reason
   * nor a leader, nobody is known to lead, and the next attempt may win.
   */
  | {
      readonly elected: false;
      readonly reason?: "busy" | "done" | "held-back" | undefined;
      readonly leader?: Leader | undefined;
    };
