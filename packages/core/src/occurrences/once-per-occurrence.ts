import { WAIT_OPTIONS, type WaitOptions } from "../election/calls.ts";
import type { Leadership, OccurrenceLeadership } from "../election/leadership.ts";
import { AlreadyAbortedError, ConfigurationError } from "../reporting/errors.ts";
import { Journal } from "../reporting/journal.ts";
import type { Completion, NotRun } from "../store/lease-snapshot.ts";
import type { LeaseStore, OccurrenceStore } from "../store/lease-store.ts";
import { checkCallOptions, checkSignal, sharedClock } from "../store/options.ts";
import { sleep } from "../time/clock.ts";
import { enclosingLeadership } from "../election/inside-task.ts";
import { attempt, type AttemptOutcome, type LatestBegin } from "./attempt.ts";
import { type FenceOf, runClaimed } from "./run-claimed.ts";
import { DEFAULT_RETENTION_MS, occurrencesOf } from "./kept-occurrences.ts";
import { keyedOccurrenceId, occurrenceId, withoutOccurrence, type ClaimedKey, type ClaimedOccurrence } from "./occurrence.ts";
import {
  checkOccurrenceOptions,
  checkSchedule,
  electorOf,
  type OncePerKeyOptions,
  type OncePerOccurrenceOptions,
  type ScheduleOptions,
} from "./once-per-occurrence-options.ts";
import { checkScheduledAt, mayBeForgotten, warnOfPresentTime } from "./scheduled-at.ts";
import { FIRST_WAIT_MS, type Settled } from "./overlap.ts";
import { noteRun } from "./last-run.ts";
import { Wait } from "./waiting-occurrences.ts";

const WHOSE = "oncePerOccurrence";

/** The claim of an occurrence, as its task receives it. Its term is the number of the attempt. */
export interface ClaimedLeadership<Store = LeaseStore, Claimed = ClaimedOccurrence> extends Leadership {
  readonly occurrence: Claimed;
  /** Makes a write depend on this claim, or with `overlap` on the schedule's leadership. As the store's own `fence`. */
  readonly fence: FenceOf<Store>;
}

/** The work of an occurrence. A return means done: a task that was cut short has to throw (`signal.throwIfAborted()`). */
export type OccurrenceTask<T, Store = LeaseStore, Claimed = ClaimedOccurrence> = (
  leadership: ClaimedLeadership<Store, Claimed>,
) => Promise<T> | T;

/**
 * `done`: another call has done it; with `keepResult`, `result` is what its task returned. `failed`: its last try has failed,
 * with an error of this code. `in-progress`: another host has claimed it, and may still fail. `overlap`, `cancelled`, `paused`:
 * see {@link NotRun}; later calls get the same reason. `missed`: it is too late for this call, and perhaps not for another host.
 */
export type OccurrenceOutcome<T> =
  | { readonly ran: true; readonly result: T; readonly attempt: number }
  | { readonly ran: false; readonly reason: "done"; readonly result?: T | undefined }
  | { readonly ran: false; readonly reason: "failed"; readonly failure: string }
  | { readonly ran: false; readonly reason: "in-progress" | NotRun };

/**
 * Does one occurrence of a schedule, or the work of one key. It is completed at most once, even if many hosts call this function
 * and their clocks differ. Use it for cron jobs: with `tryRun`, a host whose clock is behind would run the job again.
 *
 * An occurrence is *claimed* by one host at a time, under a lease that is renewed in the background. It is *done* once its task
 * has returned and the store has recorded that. For `retentionMs` from then on, no host can claim it again. A task that throws,
 * or a claimant that dies, leaves it open. The next delivery then does it, as the next attempt.
 *
 * This function does not guarantee that a task begins only once, or that its effects happen only once. A host may die before the
 * store has recorded the end. It may also be frozen for longer than the lease, and then work beside the next attempt. So make the
 * work idempotent (`leadership.occurrence.id` is a key for that), or put its writes under `leadership.fence`. The function
 * delivers nothing by itself: if every host dies, the occurrence is not done.
 *
 * With `key` in place of `scheduledAt`, the work is done once for that key, for instance once for each deployed version. Other
 * hosts then wait until it is done. The command's `run --occurrence KEY` claims the same occurrence.
 *
 * A host that does the occurrence sends three requests, and a host that finds it done sends one.
 *
 * @example
 * ```ts
 * await oncePerOccurrence({ store, name: "nightly-billing", scheduledAt }, async (leadership) => {
 *   for (const account of await dueAccounts(scheduledAt)) await bill(account, { signal: leadership.signal });
 * });
 * ```
 * @throws {ConfigurationError} {UnsupportedError} for a call that cannot work, before any request.
 * @throws {StoreError} if the store fails, also at the second try; nothing ran.
 * @throws {AlreadyAbortedError} if the signal has aborted before the call; the signal's reason, if it aborts before the task
 *   begins.
 * @throws {LeaseLostError} if another host has taken over before the end was recorded; the work may be done twice.
 * @throws {NotRecordedError} if the work is done, but could not be recorded for as long as the claim lasts.
 * @throws {DrainTimeoutError} if the task ignores the abort.
 * @throws the task's own error, after the claim was given up; with `tries`, after the last one was recorded as failed.
 */
export async function oncePerOccurrence<T, Store extends LeaseStore = LeaseStore>(
  options: OncePerOccurrenceOptions<Store>,
  task: OccurrenceTask<T, Store>,
  waitOptions?: WaitOptions,
): Promise<OccurrenceOutcome<T>>;
/** Does the work of one key once, like one occurrence of a schedule. */
export async function oncePerOccurrence<T, Store extends LeaseStore = LeaseStore>(
  options: OncePerKeyOptions<Store>,
  task: OccurrenceTask<T, Store, ClaimedKey>,
  waitOptions?: WaitOptions,
): Promise<OccurrenceOutcome<T>>;
export async function oncePerOccurrence<T, Store extends LeaseStore>(
  options: OncePerOccurrenceOptions<Store> | OncePerKeyOptions<Store>,
  task: OccurrenceTask<T, Store, ClaimedOccurrence & ClaimedKey>,
  waitOptions: WaitOptions = {},
): Promise<OccurrenceOutcome<T>> {
  const { scheduledAt, key, ...schedule } = (options ?? {}) as OncePerOccurrenceOptions<Store> | OncePerKeyOptions<Store>;
  checkOccurrenceOptions(WHOSE, options ?? {});
  if (key !== undefined && scheduledAt !== undefined) {
    throw new ConfigurationError(`${WHOSE} was given scheduledAt and key. Pass key for work that is due at no time.`);
  }
  checkSchedule(WHOSE, schedule, key);
  const { store, name, retentionMs, logger } = schedule;
  checkCallOptions(WHOSE, waitOptions, WAIT_OPTIONS);
  const { signal } = waitOptions;
  if (typeof task !== "function") {
    throw new ConfigurationError(`${WHOSE} needs a task: a function that takes the leadership.`, { election: name });
  }
  checkSignal(WHOSE, signal, name);
  if (signal?.aborted) throw new AlreadyAbortedError(WHOSE, signal, name);
  if (key !== undefined) {
    const waiting = { ...schedule, whenInProgress: schedule.whenInProgress ?? "wait" };
    return await doOccurrence({ schedule: waiting, key }, task, { signal });
  }
  const clock = sharedClock(store, schedule.clock);
  const scheduledMs = checkScheduledAt(scheduledAt, clock.wallMs(), retentionMs);
  warnOfPresentTime(name, scheduledMs, clock.wallMs(), logger);
  return await doOccurrence({ schedule, scheduledMs }, task, { signal });
}

export type DueOccurrence<Store extends LeaseStore> = { readonly schedule: ScheduleOptions<Store> } & (
  | { readonly scheduledMs: number; readonly key?: undefined }
  | { readonly key: string; readonly scheduledMs?: undefined }
);

/** Does one occurrence as {@link oncePerOccurrence} does, with options that were checked before. */
export async function doOccurrence<T, Store extends LeaseStore>(
  { schedule, scheduledMs, key }: DueOccurrence<Store>,
  task: OccurrenceTask<T, Store, ClaimedOccurrence & ClaimedKey>,
  { signal }: WaitOptions,
): Promise<OccurrenceOutcome<T>> {
  const { store, name, whenInProgress, retentionMs = DEFAULT_RETENTION_MS, logger } = schedule;
  const clock = sharedClock(store, schedule.clock);
  const id = key === undefined ? occurrenceId({ name, scheduledMs }, "") : keyedOccurrenceId({ name, key });
  const occurrences = occurrencesOf(store, name, retentionMs, WHOSE);
  const elector = electorOf(schedule, id, occurrences);
  let wait: Wait | undefined;
  warnOfItself(schedule, id, enclosingLeadership()?.election);
  const latest = scheduledMs === undefined ? undefined : latestBegin(scheduledMs, schedule, occurrences);
  const due = { store, election: name, occurrences, name, scheduledMs, policies: schedule, clock, latest, endMs: Infinity };
  const { leaseDurationMs: leaseMs, drainTimeoutMs } = schedule;
  const claimed = { ...due, timing: () => ({ leaseDurationMs: leaseMs, drainTimeoutMs }) };
  const run = async (leadership: OccurrenceLeadership): Promise<Settled<T>> => {
    wait?.leave();
    const instance = key === undefined ? { scheduledMs } : { key };
    const occurrence = { id, name, ...instance, attempt: leadership.term } as ClaimedOccurrence & ClaimedKey;
    const settled = await runClaimed<T, Store>(claimed, leadership, (led, fence) => task({ ...led, occurrence, fence }));
    if (settled.ran && schedule.noteLastRun && scheduledMs !== undefined) {
      const done = { occurrence: id, scheduledMs, attempt: leadership.term, doneMs: clock.wallMs() };
      await noteRun(occurrences, done, { candidateId: elector.candidateId, leftMs: Infinity });
    }
    return settled;
  };
  const { leaseDurationMs, renewIntervalMs } = elector.timing;
  // The instant of the first failure since the last answer. -Infinity before the first answer: then an outage ends the call.
  let failingSinceMs: number | undefined = -Infinity;
  try {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, Math.max(renewIntervalMs, FIRST_WAIT_MS))) {
      const outcome: AttemptOutcome<Settled<T>> = await attempt(elector, run, { clock, signal, latest });
      if (outcome.elected) {
        const settled = outcome.result as Settled<T>;
        if (settled.ran) return { ran: true, result: settled.result, attempt: outcome.term };
        return settled.reason === "missed" ? missed(id, schedule) : settled;
      }
      if ("unavailable" in outcome) {
        signal?.throwIfAborted();
        // An outage does not end a wait, because no other host can take the claim over meanwhile.
        failingSinceMs ??= clock.monotonicMs();
        if (clock.monotonicMs() - failingSinceMs >= leaseDurationMs) throw outcome.unavailable;
      } else {
        if (outcome.reason === "done") return outcomeOfOver(outcome.completion);
        if (outcome.reason === "missed") return missed(id, schedule);
        if (outcome.leader && whenInProgress !== "wait") return { ran: false, reason: "in-progress" };
        failingSinceMs = undefined;
      }
      // If there is no leader, the occurrence was open again before the task could begin.
      wait ??= new Wait(store, { name, id, clock, logger });
      if (failingSinceMs === undefined) await wait.pause(waitMs, signal);
      else await sleep(clock, waitMs, signal);
      const isForgotten = key === undefined && mayBeForgotten({ scheduledMs, retentionMs, wallMs: clock.wallMs() });
      if (wait.isGivenUp || isForgotten) return { ran: false, reason: "in-progress" };
    }
  } finally {
    wait?.leave();
  }
}

/** Warns if an occurrence has to wait until the task that has asked for it ends. The task leads `enclosing`. */
function warnOfItself({ name, whenInProgress, overlap, logger }: ScheduleOptions, id: string, enclosing = ""): void {
  const isSame = id === enclosing && whenInProgress === "wait";
  const isOther = id !== enclosing && withoutOccurrence(enclosing) === name;
  const waits = overlap === "bufferOne" || (overlap === "cancelOther" && id > enclosing);
  if (!isSame && !(isOther && waits)) return;
  const text = `The task of '${enclosing}' waits for '${id}', and so for itself if it awaits this call. Let it return first.`;
  Journal.to(logger).warn("LEASEHOLD_WAITS_FOR_ITSELF", "warn", text, { name, occurrence: id });
}

export function outcomeOfOver<T>({ result, failure, skipped }: Completion = {}): OccurrenceOutcome<T> & { readonly ran: false } {
  if (failure !== undefined) return { ran: false, reason: "failed", failure };
  if (skipped !== undefined) return { ran: false, reason: skipped };
  return { ran: false, reason: "done", ...(result === undefined ? {} : { result: result as T }) };
}

/** Returns the latest time at which the task of an occurrence may begin, if it has one. */
export function latestBegin(
  scheduledMs: number,
  { startWithinMs }: Pick<ScheduleOptions, "startWithinMs">,
  store: OccurrenceStore,
): LatestBegin | undefined {
  return startWithinMs === undefined ? undefined : { wallMs: scheduledMs + startWithinMs, store };
}

function missed(id: string, { name, startWithinMs, logger }: ScheduleOptions): OccurrenceOutcome<never> {
  const text = `'${id}' is missed: no host had begun it within ${startWithinMs} ms (startWithinMs).`;
  Journal.to(logger).warn("LEASEHOLD_MISSED", "warn", text, { name, occurrence: id });
  return { ran: false, reason: "missed" };
}
