import type { Leadership } from "../election/leadership.ts";
import { ConfigurationError, UnsupportedError } from "../reporting/errors.ts";
import { summarizeError } from "../reporting/redact.ts";
import { Journal, type LoggerOption } from "../reporting/journal.ts";
import { duration } from "../store/lease-limits.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import { sleep, type Clock } from "../time/clock.ts";
import type { Overlap } from "./overlap.ts";

export interface FailureOptions {
  /**
   * The number of times that the task is tried, from 1 to 100, under one claim. After the last one the occurrence has failed: the
   * call rejects with the task's error, and no host tries it again. An earlier claim, which ended because its host died or its
   * signal aborted, counts as one try. But each claim has at least two tries, unless `tries` is 1. Without this option an error
   * leaves the occurrence open, and each host that waits or comes later tries it once. @defaultValue none
   */
  readonly tries?: number | undefined;
  /** The wait before the second try, in milliseconds. It doubles from there, up to an hour. @defaultValue 1_000 */
  readonly backoffMs?: number | undefined;
  /**
   * Pauses the schedule's election after an occurrence has failed, until an administrator resumes it. Needs `tries`, and an `overlap`
   * other than `allowAll`, because only such a schedule honours a pause. @defaultValue false
   */
  readonly pauseOnFailure?: boolean | undefined;
}

const MAX_TRIES = 100;
const DEFAULT_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 3_600_000;
/** The longest time between two calls of `checkpoint` during a wait, in milliseconds. */
const CHECKPOINT_MS = 500;

/** The result of the task, or its last error if all tries have failed. */
export type Tried<T> = { readonly result: T } | { readonly failure: unknown };

export function checkFailureOptions(
  options: FailureOptions & { readonly overlap?: Overlap | undefined },
  store: LeaseStore,
): void {
  const { tries, backoffMs, pauseOnFailure, overlap = "allowAll" } = options;
  if (tries !== undefined && !(Number.isInteger(tries) && tries >= 1 && tries <= MAX_TRIES)) {
    throw new ConfigurationError(`tries is ${String(tries)}; it must be a whole number from 1 to ${MAX_TRIES}.`);
  }
  if (backoffMs !== undefined) duration("backoffMs", backoffMs);
  const needsTries = backoffMs !== undefined ? "backoffMs" : pauseOnFailure ? "pauseOnFailure" : undefined;
  if (needsTries && tries === undefined) {
    throw new ConfigurationError(
      `${needsTries} is given without tries. Set tries to the number of times that the task is tried.`,
    );
  }
  if (!pauseOnFailure) return;
  if (overlap === "allowAll") {
    throw new ConfigurationError("pauseOnFailure needs an overlap policy: a schedule with 'allowAll' does not honour a pause.");
  }
  if (!store.capabilities.pause) throw new UnsupportedError(`${store.name} cannot pause an election: leave pauseOnFailure out.`);
}

/**
 * Runs a task until it returns, at most `tries` times. An earlier claim counts as one try, but each claim has at least two.
 * @throws the task's error if `tries` is not given, or the signal has aborted; the signal's reason if it aborts during a wait.
 */
export async function runWithTries<T>(
  { tries, backoffMs = DEFAULT_BACKOFF_MS }: FailureOptions,
  clock: Clock,
  leadership: Pick<Leadership, "term" | "signal" | "checkpoint">,
  task: () => Promise<T> | T,
): Promise<Tried<T>> {
  for (let failed = 0; ; failed += 1) {
    try {
      return { result: await task() };
    } catch (error) {
      if (tries === undefined || leadership.signal.aborted) throw error;
      // Earlier claims may have ended before their task began, and nothing records that.
      const isTriedAgain = failed > 0 || tries === 1;
      if (isTriedAgain && leadership.term + failed >= tries) return { failure: error };
    }
    await pauseAlive(clock, Math.min(backoffMs * 2 ** failed, MAX_BACKOFF_MS), leadership);
  }
}

/** Waits as `sleep` does, and calls `checkpoint`, so that the wait is no stall. @throws the signal's reason if it aborts. */
export async function pauseAlive(
  clock: Clock,
  waitMs: number,
  leadership: Pick<Leadership, "signal" | "checkpoint">,
): Promise<void> {
  for (let leftMs = waitMs; leftMs > 0; leftMs -= CHECKPOINT_MS) {
    leadership.checkpoint();
    await sleep(clock, Math.min(leftMs, CHECKPOINT_MS), leadership.signal);
  }
  leadership.checkpoint();
}

type Failure = Readonly<{ store: LeaseStore; election: string; id: string; error: unknown; logger: LoggerOption }>;

/** Pauses the election of a schedule after a failure. An error of the store is reported, and does not replace the task's error. */
export async function pauseAfterFailure({ store, election, id, error, logger }: Failure): Promise<void> {
  try {
    const { code } = summarizeError(error);
    await store.pause(election, { reason: `'${id}' failed (${code}), and pauseOnFailure is set` });
  } catch (cause) {
    const text = `'${election}' could not be paused after '${id}' failed: ${summarizeError(cause).message}`;
    Journal.to(logger).warn("LEASEHOLD_TICK_FAILED", "error", text, { name: election, occurrence: id });
  }
}
