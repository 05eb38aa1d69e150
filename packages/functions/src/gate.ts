import { ConfigurationError, systemClock, type Leader, type LeaderTask, type LeaseStore } from "@leasehold/core";
import { MAX_NAME_BYTES } from "@leasehold/core/provider";
import { completeInTime } from "./complete-in-time.ts";
import { attempt, type AttemptOptions, type AttemptOutcome } from "./attempt.ts";
import { earlierOccurrences } from "./catch-up.ts";
import { functionLeadership, type FunctionLeadership } from "./function-leadership.ts";
import { occurrenceId, type ClaimedOccurrence, type Occurrence } from "./occurrence.ts";
import {
  checkOptions,
  DEFAULT_RETENTION_MS,
  leasesOf,
  reservationOf,
  type AnyOptions,
  type NotElected,
  type OncePerTickOptions,
  type OnlyAsLeaderOptions,
} from "./options.ts";
import { timeBudget } from "./time-budget.ts";

/** What a platform tells of an invocation. */
export interface Platform<Args extends readonly unknown[]> {
  /** How long until it ends the invocation, in milliseconds. */
  readonly remainingMs: (...args: Args) => number;
  /** How a person finds the invocation again. */
  readonly candidateId?: (...args: Args) => string | undefined;
  /** Which occurrence of its schedule it is. @throws {ConfigurationError} if the event does not tell. */
  readonly occurrence?: (...args: Args) => Occurrence;
}

/** A handler of the user's: its own arguments, and the leadership after them. */
export type LeaderHandler<Args extends readonly unknown[], Store, Result> = (
  ...args: [...args: Args, leadership: FunctionLeadership<Store>]
) => Result | Promise<Result>;

/** One invocation on its way through the gate. */
interface Invocation {
  /** When the signal aborts, and when the platform ends it all, by the monotonic clock. */
  readonly endMs: number;
  readonly platformEndMs: number;
  readonly attemptOptions: Omit<AttemptOptions, "store" | "election" | "endMs">;
}

/** Wraps a handler so that it runs only as leader; see the README on the three gates. */
export function gate<Args extends readonly unknown[], Store extends LeaseStore, Result, Standby = NotElected>(
  platform: Platform<Args>,
  options: OnlyAsLeaderOptions<Args, Store, Standby>,
  handler: LeaderHandler<Args, Store, Result>,
): (...args: Args) => Promise<Result | Standby> {
  const anyOptions = options as unknown as AnyOptions;
  checkOptions(anyOptions);
  if (typeof handler !== "function") throw new ConfigurationError("onlyAsLeader needs a handler: a function.");
  if (options.gate === "oncePerTick" && !options.occurrence && !platform.occurrence) {
    throw new ConfigurationError(
      "The gate 'oncePerTick' needs 'occurrence' here: a function that takes the handler's arguments and returns { name, scheduledMs }.",
    );
  }
  const { clock = systemClock, onUnavailable = "throw" } = options;
  const { capabilities } = leasesOf(anyOptions);

  function begin(args: Args): Invocation {
    const remainingMs = platform.remainingMs(...args);
    const { workMs, releaseTimeoutMs, timing } = timeBudget(remainingMs, options, capabilities);
    const nowMs = clock.monotonicMs();
    return {
      endMs: nowMs + workMs,
      platformEndMs: nowMs + remainingMs,
      attemptOptions: {
        ...timing,
        releaseTimeoutMs,
        clock,
        candidateId: label(platform.candidateId?.(...args)),
        value: options.value,
        renewal: options.renewal === "background" ? "scheduled" : "manual",
        signal: options.signal,
      },
    };
  }

  function task(
    args: Args,
    store: LeaseStore,
    platformEndMs: number,
    occurrence?: Occurrence & { readonly caughtUp: boolean },
  ): LeaderTask<Result> {
    return async (leadership) => {
      const claimed: ClaimedOccurrence | undefined = occurrence && {
        ...occurrence,
        id: leadership.election,
        attempt: leadership.term,
      };
      const renewsByHand = options.renewal !== "background";
      const result = await handler(...args, functionLeadership<Store>(leadership, store, renewsByHand, claimed));
      if (occurrence) await completeInTime(leadership, clock, platformEndMs);
      return result;
    };
  }

  async function leadOnce(args: Args): Promise<AttemptOutcome<Result>> {
    const { endMs, platformEndMs, attemptOptions } = begin(args);
    const { store, election } = options;
    const { minimumHoldMs } = options as { minimumHoldMs?: number };
    const reservation = options.gate === "sticky" ? reservationOf(options) : undefined;
    return await attempt(
      { ...attemptOptions, store, election, endMs, minimumHoldMs, reservation },
      task(args, store, platformEndMs),
    );
  }

  /** The occurrence that was delivered, and while there is time those before it that nobody has done; one that fails does not keep back the others. */
  async function leadOccurrences(args: Args, once: OncePerTickOptions<Args, Store, Standby>): Promise<AttemptOutcome<Result>> {
    const delivered = (once.occurrence ?? platform.occurrence)?.(...args) as Occurrence;
    occurrenceId(delivered);
    const { endMs, platformEndMs } = begin(args);
    const failures: unknown[] = [];
    const { retentionMs = DEFAULT_RETENTION_MS, catchUp } = once;
    const earlier = catchUp ? earlierOccurrences(delivered, catchUp, retentionMs, clock.wallMs()) : [];
    const lead = async (occurrence: Occurrence, caughtUp: boolean): Promise<AttemptOutcome<Result>> => {
      const store = leasesOf(anyOptions);
      const { attemptOptions } = begin(args);
      const { name, scheduledMs } = occurrence;
      const id = occurrenceId(occurrence);
      return await attempt(
        { ...attemptOptions, store, election: id, endMs },
        task(args, store, platformEndMs, { name, scheduledMs, caughtUp }),
      );
    };
    const outcome = await lead(delivered, false).catch((error: unknown) => {
      failures.push(error);
      return undefined;
    });
    // A store that does not answer for one does not for the others; and what was delivered is decided.
    let unavailable = outcome !== undefined && "unavailable" in outcome;
    for (const occurrence of earlier) {
      if (unavailable || clock.monotonicMs() >= endMs || once.signal?.aborted) break;
      const caughtUp = await lead(occurrence, true).catch((error: unknown) => void failures.push(error));
      unavailable = caughtUp !== undefined && "unavailable" in caughtUp;
    }
    if (failures.length > 1) throw new AggregateError(failures, `${failures.length} occurrences of '${once.election}' failed.`);
    if (!outcome || failures.length > 0) throw failures[0];
    return outcome;
  }

  return async (...args) => {
    const outcome = options.gate === "oncePerTick" ? await leadOccurrences(args, options) : await leadOnce(args);
    if (outcome.elected) return outcome.result as Result;
    if ("unavailable" in outcome && onUnavailable === "throw") throw outcome.unavailable;
    const leader: Leader | undefined = "leader" in outcome ? outcome.leader : undefined;
    if (options.onStandby) return await options.onStandby(leader, ...args);
    return { elected: false, ...(leader ? { leader } : {}) } satisfies NotElected as Standby;
  };
}

/** A label that any store takes: it may come from a request. */
function label(text: string | undefined): string | undefined {
  return text?.replace(/[^\x20-\x7e]/g, "?").slice(0, MAX_NAME_BYTES);
}
