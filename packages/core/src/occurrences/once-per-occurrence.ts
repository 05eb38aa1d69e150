import { WAIT_OPTIONS, type WaitOptions } from "../election/calls.ts";
import type { Leadership, OccurrenceLeadership } from "../election/leadership.ts";
import { AlreadyAbortedError, ConfigurationError } from "../reporting/errors.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import { checkCallOptions, checkSignal } from "../store/options.ts";
import { sharedClock } from "../store/shared-clock.ts";
import { sleep } from "../time/clock.ts";
import { attempt, type AttemptOutcome } from "./attempt.ts";
import { completeWhileClaimed } from "./complete-in-time.ts";
import { fenceOf, type FenceOf } from "./fence-of.ts";
import { DEFAULT_RETENTION_MS, occurrencesOf } from "./kept-occurrences.ts";
import { occurrenceId, type ClaimedOccurrence } from "./occurrence.ts";
import { checkSchedule, electorOf, type OncePerOccurrenceOptions, type ScheduleOptions } from "./once-per-occurrence-options.ts";
import { checkScheduledAt, mayBeForgotten, warnOfPresentTime } from "./scheduled-at.ts";
import { WaitingOccurrences, type Wait } from "./waiting-occurrences.ts";

/** The first wait for an occurrence that another has claimed; it doubles from there, up to the interval of renewals. */
const FIRST_WAIT_MS = 250;

/** The claim of an occurrence, as its task holds it. Its term is the number of the attempt. */
export interface ClaimedLeadership<Store = LeaseStore> extends Leadership {
  readonly occurrence: ClaimedOccurrence;
  /** Makes a write of yours depend on this claim, as the store's `fence` does; it takes that one's further arguments. */
  readonly fence: FenceOf<Store>;
}

/** The work of an occurrence. Returning is done: who is cut short throws, for instance by `leadership.signal.throwIfAborted()`. */
export type OccurrenceTask<T, Store = LeaseStore> = (leadership: ClaimedLeadership<Store>) => Promise<T> | T;

/** `in-progress`: another has claimed it, and may still fail. */
export type OccurrenceOutcome<T> =
  | { readonly ran: true; readonly result: T; readonly attempt: number }
  | { readonly ran: false; readonly reason: "done" | "in-progress" };

/**
 * Does one occurrence of a schedule, at most once to the end, however many hosts call it and however skewed their clocks are:
 * what a cron job needs where `tryRun` would do it again on a host whose clock is behind.
 *
 * An occurrence is *claimed* by one at a time, under a lease that is renewed in the background, and *done* once its task has
 * returned and the store has recorded it. Nobody claims it after that, for `retentionMs`. A task that throws leaves it open, and
 * a claimant that dies leaves it open once the lease has run out: the next delivery does it, as the next attempt.
 *
 * It does not guarantee that a task begins only once, or that its effects happen once: a host that dies in the middle, or
 * before the store has recorded its end, has done some or all of the work. One that is frozen for longer than the lease, and
 * ignores its signal when it thaws, works on beside the next attempt; it then rejects. Make the work bear being repeated (its
 * `leadership.occurrence.id` is a key for that), or put its writes under `leadership.fence`. And it delivers nothing by itself:
 * where every host dies, the occurrence is not done.
 *
 * Three requests for the host that does it, one for each that finds it done.
 *
 * @example
 * ```ts
 * await oncePerOccurrence({ store, name: "nightly-billing", scheduledAt }, async (leadership) => {
 *   for (const account of await dueAccounts(scheduledAt)) await bill(account, { signal: leadership.signal });
 * });
 * ```
 * @throws {ConfigurationError} {UnsupportedError} for what cannot work, before any request. {StoreError} if the store cannot be
 *   asked, also the second time: nothing ran. {AlreadyAbortedError} if the signal has aborted before; its reason, if it aborts
 *   before the task begins. {LeaseLostError} if another has taken over before the end was recorded: the work may be done twice.
 *   {NotRecordedError} if it is done, and that could not be recorded for as long as the claim lasts. {DrainTimeoutError} if the
 *   task ignores the abort. Else whatever the task throws, after the claim was given up.
 */
export async function oncePerOccurrence<T, Store extends LeaseStore = LeaseStore>(
  options: OncePerOccurrenceOptions<Store>,
  task: OccurrenceTask<T, Store>,
  waitOptions: WaitOptions = {},
): Promise<OccurrenceOutcome<T>> {
  const { scheduledAt, ...schedule } = (options ?? {}) as OncePerOccurrenceOptions<Store>;
  checkSchedule(WHOSE, schedule);
  const { store, name, retentionMs, logger } = schedule;
  checkCallOptions(WHOSE, waitOptions, WAIT_OPTIONS);
  const { signal } = waitOptions;
  checkCall(task, signal, name);
  const clock = sharedClock(store, schedule.clock);
  const scheduledMs = checkScheduledAt({ scheduledAt, retentionMs }, clock.wallMs());
  warnOfPresentTime(name, scheduledMs, clock.wallMs(), logger);
  return await doOccurrence({ schedule, scheduledMs }, task, { signal });
}

/** An occurrence of a checked schedule. */
export interface DueOccurrence<Store extends LeaseStore> {
  readonly schedule: ScheduleOptions<Store>;
  /** The time at which it was due, in milliseconds since the Unix epoch. */
  readonly scheduledMs: number;
}

/** Does one occurrence, as {@link oncePerOccurrence} does, whose options were checked. */
export async function doOccurrence<T, Store extends LeaseStore>(
  { schedule, scheduledMs }: DueOccurrence<Store>,
  task: OccurrenceTask<T, Store>,
  { signal }: WaitOptions,
): Promise<OccurrenceOutcome<T>> {
  const { store, name, whenInProgress, retentionMs = DEFAULT_RETENTION_MS, logger } = schedule;
  const clock = sharedClock(store, schedule.clock);
  const id = occurrenceId({ name, scheduledMs }, "");
  const occurrences = occurrencesOf(store, name, retentionMs, WHOSE);
  const elector = electorOf(schedule, id, occurrences);
  let wait: Wait | undefined;
  const run = async (leadership: OccurrenceLeadership): Promise<T> => {
    wait?.leave();
    const occurrence = { id, name, scheduledMs, attempt: leadership.term };
    const fence = fenceOf<Store>(leadership, occurrences, "occurrences");
    const result = await task({ ...leadership, occurrence, fence });
    await completeWhileClaimed(leadership, clock, Infinity);
    return result;
  };
  const { leaseDurationMs, renewIntervalMs } = elector.timing;
  /** The first failure since the last answer. Before the first answer no outage is waited out. */
  let failingSinceMs: number | undefined = -Infinity;
  try {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, Math.max(renewIntervalMs, FIRST_WAIT_MS))) {
      const outcome: AttemptOutcome<T> = await attempt(elector, run, { clock, signal });
      if (outcome.elected) return { ran: true, result: outcome.result as T, attempt: outcome.term };
      if ("unavailable" in outcome) {
        signal?.throwIfAborted();
        // An outage is not the end of a wait: nobody can have taken the claim over meanwhile.
        failingSinceMs ??= clock.monotonicMs();
        if (clock.monotonicMs() - failingSinceMs >= leaseDurationMs) throw outcome.unavailable;
      } else {
        if (outcome.reason === "done") return { ran: false, reason: "done" };
        if (outcome.leader && whenInProgress !== "wait") return { ran: false, reason: "in-progress" };
        failingSinceMs = undefined;
      }
      // Without a leader, it was open again before the task could begin.
      wait ??= WaitingOccurrences.enter(store, { name, scheduledMs, clock, logger });
      if (failingSinceMs === undefined) await wait.pause(waitMs, signal);
      else await sleep(clock, waitMs, signal);
      if (wait.isGivenUp || mayBeForgotten({ scheduledMs, retentionMs, wallMs: clock.wallMs() })) {
        return { ran: false, reason: "in-progress" };
      }
    }
  } finally {
    wait?.leave();
  }
}

const WHOSE = "oncePerOccurrence";

function checkCall(task: unknown, signal: AbortSignal | undefined, name: string): void {
  if (typeof task !== "function") {
    throw new ConfigurationError(`${WHOSE} needs a task: a function that takes the leadership.`, { election: name });
  }
  checkSignal(WHOSE, signal, name);
  if (signal?.aborted) throw new AlreadyAbortedError(WHOSE, signal, name);
}
