import type { OccurrenceLeadership, Leadership } from "../election/leadership.ts";
import { isLeaseholdError, NotRecordedError, type StoreError, UnsupportedError } from "../reporting/errors.ts";
import { sleep, type Clock } from "../time/clock.ts";
import { callTask } from "../election/inside-task.ts";
import { summarizeError } from "../reporting/redact.ts";
import { Journal, type LoggerOption } from "../reporting/journal.ts";
import type { Completion } from "../store/lease-snapshot.ts";
import type { LeaseStore, OccurrenceStore } from "../store/lease-store.ts";
import type { LatestBegin } from "./attempt.ts";
import { completionOf } from "../store/kept-result.ts";
import { publishOccurrence, type PublishedOccurrence } from "./occurrence-channel.ts";
import { runByOverlap, type Overlap, type Settled } from "./overlap.ts";
import { pauseAfterFailure, runWithTries, type FailureOptions, type Tried } from "./tries.ts";

interface Policies extends FailureOptions {
  readonly overlap?: Overlap | undefined;
  readonly keepResult?: boolean | undefined;
  readonly logger?: LoggerOption;
}

/** The longest code of an error that is kept, in characters: an error's name may be any text. */
const MAX_CODE = 100;

export interface ClaimedRun<Store extends LeaseStore> {
  readonly store: Store;
  readonly election: string;
  readonly occurrences: OccurrenceStore;
  /** The name of the schedule, or of the work of a key, as metrics show it. */
  readonly name: string;
  /** The time at which it was due; `undefined` with a key. */
  readonly scheduledMs: number | undefined;
  readonly policies: Policies;
  readonly clock: Clock;
  readonly latest: LatestBegin | undefined;
  /** The end of the time in which the completion is tried, by the monotonic clock. */
  readonly endMs: number;
  /** Returns the timing of the schedule's election. Called if there is an overlap policy. */
  readonly timing: () => { readonly leaseDurationMs?: number | undefined; readonly drainTimeoutMs?: number | undefined };
}

/** The work of a claimed occurrence. The fence is that of the claim, or of the schedule's election if there is an overlap policy. */
export type ClaimedTask<T, Store> = (led: OccurrenceLeadership, fence: FenceOf<Store>) => Promise<T> | T;

/**
 * Runs a claimed occurrence by its schedule's policies, and completes it, also if it did not run or has failed for good.
 * @throws the task's error, after the last try or without `tries`. As {@link completeWhileClaimed} does.
 */
export async function runClaimed<T, Store extends LeaseStore>(
  run: ClaimedRun<Store>,
  claim: OccurrenceLeadership,
  task: ClaimedTask<T, Store>,
): Promise<Settled<T>> {
  const { store, election, name, scheduledMs, policies, clock } = run;
  const { pauseOnFailure, logger } = policies;
  const { election: occurrence, term: attempt } = claim;
  let lateMs: number | undefined;
  const publish = (outcome: PublishedOccurrence["outcome"]): void =>
    publishOccurrence(() => ({ name, occurrence, outcome, attempt, ...(lateMs === undefined ? {} : { lateMs }) }));
  const begin: ClaimedTask<T, Store> = (led, fence) => {
    if (scheduledMs !== undefined) lateMs ??= clock.wallMs() - scheduledMs;
    return task(led, fence);
  };
  const settled = await runAndComplete(run, claim, begin).catch((error: unknown) => {
    publish("open");
    throw error;
  });
  if (!settled.ran) {
    publish(settled.reason);
    return settled;
  }
  if (!("failure" in settled.result)) {
    publish("done");
    return { ran: true, result: settled.result.result };
  }
  publish("failed");
  const { failure: error } = settled.result;
  if (pauseOnFailure) await pauseAfterFailure({ store, election, id: occurrence, error, logger });
  throw error;
}

async function runAndComplete<T, Store extends LeaseStore>(
  { store, election, occurrences, policies, clock, latest, endMs, timing }: ClaimedRun<Store>,
  claim: OccurrenceLeadership,
  task: ClaimedTask<T, Store>,
): Promise<Settled<Tried<T>>> {
  const { overlap = "allowAll", keepResult, logger } = policies;
  const work = async (led: OccurrenceLeadership, elected?: Leadership): Promise<Tried<T>> => {
    const fence = elected ? fenceOf<Store>(elected, store, "elections") : fenceOf<Store>(led, occurrences, "occurrences");
    return await runWithTries(policies, clock, led, async () => {
      return await (elected ? callTask({ owner: led, leadership: led }, () => task(led, fence)) : task(led, fence));
    });
  };
  const settled: Settled<Tried<T>> =
    overlap === "allowAll"
      ? { ran: true, result: await work(claim) }
      : await runByOverlap({ store, election, overlap, occurrences, clock, ...timing(), logger, latest }, claim, work);
  await completeWhileClaimed(claim, clock, endMs, settled.ran ? completionBy(settled.result) : { skipped: settled.reason });
  return settled;

  function completionBy(tried: Tried<T>): Completion | undefined {
    if ("failure" in tried) return { failure: summarizeError(tried.failure).code.slice(0, MAX_CODE).toWellFormed() };
    return keepResult ? completionOfDone(tried.result, claim.election, occurrences, logger) : undefined;
  }
}

/** Returns the completion that keeps a result. If it cannot be kept, that is logged, because the work must not be done again. */
function completionOfDone(
  result: unknown,
  occurrence: string,
  occurrences: OccurrenceStore,
  logger: LoggerOption,
): Completion | undefined {
  try {
    return completionOf(result, occurrence, occurrences);
  } catch (error) {
    const text = `'${occurrence}' is done, and is recorded without a result. ${(error as Error).message}`;
    Journal.to(logger).warn("LEASEHOLD_TICK_FAILED", "error", text, { occurrence });
    return undefined;
  }
}

/** The store's own `fence` without its first argument, the leadership. `undefined` where the store has none. */
export type FenceOf<Store> = Store extends { fence: (leadership: never, ...rest: infer Rest) => infer Result }
  ? (...rest: Rest) => Result
  : undefined;

/** Returns the fence of a leadership of `store`. It takes the further arguments of the store's own `fence`. */
export function fenceOf<Store>(leadership: Leadership, store: LeaseStore, what: "occurrences" | "elections"): FenceOf<Store> {
  const { fence } = store as { fence?: (leadership: Leadership, ...rest: unknown[]) => unknown };
  const bound = (...rest: unknown[]): unknown => {
    if (fence) return fence.call(store, leadership, ...rest);
    throw new UnsupportedError(`${store.name} has no fence for ${what}.`, { election: leadership.election });
  };
  return bound as FenceOf<Store>;
}

/** The first wait before a completion is tried again, in milliseconds. It doubles from there. */
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 5_000;

/**
 * Completes an occurrence. Tries at least once, and while the claim keeps others out, until `endMs` by the monotonic clock.
 * @throws {LeaseLostError} if another attempt has taken over.
 * @throws {NotRecordedError} otherwise; its `cause` is the error of the last try.
 */
export async function completeWhileClaimed(
  leadership: OccurrenceLeadership,
  clock: Clock,
  endMs: number,
  completion?: Completion,
): Promise<void> {
  const { election, term } = leadership;
  const untilMs = Math.min(clock.monotonicMs() + leadership.remainingMs(), endMs);
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
    try {
      return await leadership.complete(completion);
    } catch (error) {
      if (isLeaseholdError(error, "LEASE_LOST")) throw error;
      const askedMs = Math.max((error as Partial<StoreError>).retryAfterMs ?? 0, waitMs);
      if (clock.monotonicMs() + askedMs >= untilMs) throw new NotRecordedError(election, term, error);
      await sleep(clock, askedMs);
    }
  }
}
