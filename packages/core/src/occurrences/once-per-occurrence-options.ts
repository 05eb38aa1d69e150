import { Elector } from "../election/elector.ts";
import { checkStore } from "../election/observer.ts";
import type { TimingOptions } from "../election/timing.ts";
import { ConfigurationError } from "../reporting/errors.ts";
import type { LoggerOption } from "../reporting/journal.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import { checkName } from "../store/names.ts";
import { duration } from "../store/lease-limits.ts";
import { checkBoolean, checkChoice, checkOptions, defineOptions } from "../store/options.ts";
import { checkFailureOptions, type FailureOptions } from "./tries.ts";
import type { Clock } from "../time/clock.ts";
import { checkRetention, DEFAULT_RETENTION_MS, occurrencesOf } from "./kept-occurrences.ts";
import { checkOverlap, type Overlap } from "./overlap.ts";
import { keyedOccurrenceId, occurrenceId } from "./occurrence.ts";

export interface ScheduleOptions<Store extends LeaseStore = LeaseStore>
  extends Pick<TimingOptions, "leaseDurationMs" | "stallTimeoutMs" | "drainTimeoutMs">, FailureOptions {
  /** The store of the occurrences, the same for every host. */
  readonly store: Store;
  /**
   * The schedule's name, the same on every host: 1 to 230 bytes of UTF-8. Two schedules need two names. If two jobs with one name
   * are due at the same instant, one of them is never done.
   */
  readonly name: string;
  /**
   * The reaction to an occurrence that another host has claimed: return at once, or wait. A call that waits returns once the
   * occurrence is done. If the claimant fails or dies, the waiting call does the occurrence. Use `wait` for hosts that get no
   * second delivery. @defaultValue 'return' with `scheduledAt`, 'wait' with `key`
   */
  readonly whenInProgress?: "return" | "wait" | undefined;
  /**
   * The time for which a done occurrence is remembered, in milliseconds. It must be longer than any delivery can be late, and at
   * least a day. A call with the same `key` after that time runs the task again. @defaultValue 7 days
   */
  readonly retentionMs?: number | undefined;
  /**
   * Keeps the value that the task returns, in the write that records the end. A later call, on any host, gets it as the `result`
   * of `done`. The value has to be JSON, of at most the store's `maxValueBytes` less 11. A value that cannot be kept is logged as
   * an error, and the occurrence is done without a result. Others can read the kept value. @defaultValue false
   */
  readonly keepResult?: boolean | undefined;
  /** Notes after each run which occurrence was done, for `lastRun`. It costs two more requests. @defaultValue false */
  readonly noteLastRun?: boolean | undefined;
  /**
   * The longest time from when an occurrence was due until its task begins, in milliseconds. After that time the occurrence is
   * missed: no host claims it. Each host uses its own wall clock, so allow for their difference, and for a takeover.
   * @defaultValue no limit
   */
  readonly startWithinMs?: number | undefined;
  /**
   * The relation to an earlier occurrence that still runs, on any host. With any policy but `allowAll` the host also leads the
   * election `name` in the store. This lease costs three more requests for each run, and doubles the renewals. An administrator
   * can pause that election; occurrences are then skipped as `paused`. Use the name for nothing else. @defaultValue 'allowAll'
   */
  readonly overlap?: Overlap | undefined;
  /**
   * A label of this host that people can read. The host also uses it in the schedule's election, with a random suffix if
   * `overlap` is `cancelOther`. @defaultValue `<host>-<pid>-<random>`
   */
  readonly candidateId?: string | undefined;
  readonly logger?: LoggerOption;
  /** @defaultValue the store's clock */
  readonly clock?: Clock | undefined;
}

export interface OncePerOccurrenceOptions<Store extends LeaseStore = LeaseStore> extends ScheduleOptions<Store> {
  /**
   * The time at which this occurrence was due: the same instant on every host, to the millisecond, and never the present time. A
   * `Date`, a text in ISO 8601 with its zone, or milliseconds since the Unix epoch.
   */
  readonly scheduledAt: Date | string | number;
  /** Pass either `scheduledAt` or `key`. */
  readonly key?: undefined;
}

export interface OncePerKeyOptions<Store extends LeaseStore = LeaseStore> extends Omit<
  ScheduleOptions<Store>,
  "startWithinMs" | "overlap" | "pauseOnFailure" | "noteLastRun"
> {
  /**
   * The key of work that is done once, without a scheduled time: for instance the version that is deployed. Every host uses the
   * same key, and other work has another key. Name and key have at most 254 bytes together.
   */
  readonly key: string;
  /** Pass either `scheduledAt` or `key`. */
  readonly scheduledAt?: undefined;
}

const SCHEDULE_OPTIONS = defineOptions<ScheduleOptions>()(
  "store name whenInProgress retentionMs keepResult noteLastRun startWithinMs overlap tries backoffMs pauseOnFailure",
  "leaseDurationMs stallTimeoutMs drainTimeoutMs candidateId logger clock",
);

const CALL_OPTIONS = defineOptions<Record<"scheduledAt" | "key", unknown>>()("scheduledAt key");

/** Refuses options that `oncePerOccurrence` does not have. @throws {ConfigurationError} */
export function checkOccurrenceOptions(whose: string, options: object): void {
  checkOptions(whose, options, { ...SCHEDULE_OPTIONS, ...CALL_OPTIONS });
}

/** Checks what is known of a schedule before its first occurrence. @throws {ConfigurationError | UnsupportedError} */
export function checkSchedule(whose: string, options: ScheduleOptions, key?: string): void {
  checkOptions(whose, options, SCHEDULE_OPTIONS);
  const { store, name, whenInProgress, retentionMs = DEFAULT_RETENTION_MS } = options;
  checkStore(store);
  checkName("name", name);
  checkChoice("whenInProgress", whenInProgress, ["return", "wait"]);
  checkRetention(retentionMs);
  checkBoolean("keepResult", options.keepResult);
  checkBoolean("noteLastRun", options.noteLastRun);
  if (options.startWithinMs !== undefined) duration("startWithinMs", options.startWithinMs);
  checkOverlap(options.overlap, store, whose);
  checkFailureOptions(options, store);
  const unkeyed = (["startWithinMs", "overlap", "noteLastRun"] as const).find((option) => options[option] !== undefined);
  if (key !== undefined && unkeyed) {
    throw new ConfigurationError(`${unkeyed} is for occurrences of a schedule: work with a key is due at no time.`);
  }
  const id = key === undefined ? occurrenceId({ name, scheduledMs: 0 }, "") : keyedOccurrenceId({ name, key });
  electorOf(options, id, occurrencesOf(store, name, retentionMs, whose));
  // The store may take other leases for elections than for occurrences.
  if ((options.overlap ?? "allowAll") !== "allowAll") electorOf(options, name, store);
}

/** Returns an elector for one occurrence, or for the schedule. */
export function electorOf<Store extends LeaseStore>(schedule: ScheduleOptions, id: string, store: Store): Elector<Store> {
  const { leaseDurationMs, stallTimeoutMs, drainTimeoutMs, candidateId, logger, clock } = schedule;
  const options = { leaseDurationMs, stallTimeoutMs, drainTimeoutMs, candidateId, logger, clock };
  return new Elector({ ...options, store, election: id });
}
