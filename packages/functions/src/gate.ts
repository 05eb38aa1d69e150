import {
  ConfigurationError,
  systemClock,
  type Clock,
  type Leader,
  type Leadership,
  type LeadershipOf,
  type LeaderTask,
  type LeaseStore,
  type LeaseStoreCapabilities,
} from "@leasehold/core";
import {
  completeInTime,
  DEFAULT_RETENTION_MS,
  MAX_NAME_BYTES,
  occurrenceId,
  type AttemptOutcome,
  type Occurrence,
} from "@leasehold/core/provider";
import { attemptInTime, type AttemptOptions } from "./attempt-in-time.ts";
import { earlierOccurrences } from "./catch-up.ts";
import { functionLeadership, type FunctionLeadership } from "./function-leadership.ts";
import { PASS_OCCURRENCE } from "./occurrence.ts";
import {
  checkGateOptions,
  leasesOf,
  occurrencesFor,
  reservationOf,
  type AnyOptions,
  type NotElected,
  type OncePerTickOptions,
  type OnlyAsLeaderOptions,
} from "./options.ts";
import { timeBudget, type TimeBudget } from "./time-budget.ts";

/** The facts that a platform gives of an invocation. */
export interface Platform<Args extends readonly unknown[]> {
  /** The names of the options that it has beside those of every gate. */
  readonly options?: readonly string[];
  /** Returns how long until it ends the invocation, in milliseconds. */
  readonly remainingMs: (...args: Args) => number;
  /** Returns the name by which a person finds the invocation again. */
  readonly candidateId?: (...args: Args) => string | undefined;
  /** Returns the occurrence of its schedule. @throws {ConfigurationError} if the event does not name it. */
  readonly occurrence?: (...args: Args) => Occurrence;
}

/** A handler of the user's: its own arguments, and the leadership after them. */
export type LeaderHandler<Args extends readonly unknown[], Store, Result> = (
  ...args: [...args: Args, leadership: FunctionLeadership<Store>]
) => Result | Promise<Result>;

/** Wraps a handler so that it runs only as leader; see the README on the three gates. */
export function gate<Args extends readonly unknown[], Store extends LeaseStore, Result, Standby = NotElected>(
  platform: Platform<Args>,
  options: OnlyAsLeaderOptions<Args, Store, Standby>,
  handler: LeaderHandler<Args, Store, Result>,
): (...args: Args) => Promise<Result | Standby> {
  const gated = new GatedHandler(platform, options, handler);
  return async (...args) => await gated.deliver(args);
}

/** One invocation on its way through the gate. */
interface Invocation<Args> {
  readonly args: Args;
  /** The instants at which the signal aborts and the platform ends it all, by the monotonic clock. */
  readonly endMs: number;
  readonly platformEndMs: number;
  readonly budget: TimeBudget;
}

/** An occurrence that an invocation tries to claim. */
type Claim = Occurrence & { readonly caughtUp: boolean };

class GatedHandler<Args extends readonly unknown[], Store extends LeaseStore, Result, Standby> {
  readonly #platform: Platform<Args>;
  readonly #options: OnlyAsLeaderOptions<Args, Store, Standby>;
  readonly #handler: LeaderHandler<Args, Store, Result>;
  readonly #clock: Clock;
  readonly #capabilities: LeaseStoreCapabilities;

  /** @throws {ConfigurationError} {UnsupportedError} for what cannot work, before any delivery. */
  constructor(
    platform: Platform<Args>,
    options: OnlyAsLeaderOptions<Args, Store, Standby>,
    handler: LeaderHandler<Args, Store, Result>,
  ) {
    const anyOptions = options as unknown as AnyOptions;
    checkGateOptions(anyOptions, platform.options ?? []);
    if (typeof handler !== "function") throw new ConfigurationError("onlyAsLeader needs a handler: a function.");
    if (options.gate === "oncePerTick" && !options.occurrence && !platform.occurrence) {
      throw new ConfigurationError(
        "The gate 'oncePerTick' needs 'occurrence' here: a function that takes the handler's arguments and returns { name, scheduledMs }.",
      );
    }
    this.#platform = platform;
    this.#options = options;
    this.#handler = handler;
    this.#clock = options.clock ?? systemClock;
    this.#capabilities = leasesOf(anyOptions).capabilities;
  }

  async deliver(args: Args): Promise<Result | Standby> {
    const { onUnavailable = "throw", onStandby } = this.#options;
    const outcome = await this.#lead(this.#begin(args));
    if (outcome.elected) return outcome.result as Result;
    if ("unavailable" in outcome && onUnavailable === "throw") throw outcome.unavailable;
    const leader: Leader | undefined = "leader" in outcome ? outcome.leader : undefined;
    if (onStandby) return await onStandby(leader, ...args);
    return { elected: false, ...(leader ? { leader } : {}) } satisfies NotElected as Standby;
  }

  #begin(args: Args): Invocation<Args> {
    const remainingMs = this.#platform.remainingMs(...args);
    const budget = timeBudget(remainingMs, this.#options, this.#capabilities);
    const nowMs = this.#clock.monotonicMs();
    return { args, endMs: nowMs + budget.workMs, platformEndMs: nowMs + remainingMs, budget };
  }

  /** Returns an invocation with a budget for what is left of it: a lease for all of it would outlast a crash for too long. */
  #continued(invocation: Invocation<Args>): Invocation<Args> {
    const remainingMs = invocation.platformEndMs - this.#clock.monotonicMs();
    return { ...invocation, budget: timeBudget(remainingMs, this.#options, this.#capabilities) };
  }

  async #lead(invocation: Invocation<Args>): Promise<AttemptOutcome<Result>> {
    const options = this.#options;
    if (options.gate === "oncePerTick") return await this.#leadOccurrences(invocation, options);
    const { store, election, minimumHoldMs } = options;
    const reservation = options.gate === "sticky" ? reservationOf(options) : undefined;
    return await this.#attempt(invocation, { store, election, minimumHoldMs, reservation }, (leadership) =>
      this.#handle(invocation, leadership, store),
    );
  }

  /**
   * Leads for the occurrence that was delivered, and then, while there is time, for those before it that nobody has done.
   * One that fails does not keep back the others; a store that does not answer does.
   */
  async #leadOccurrences(
    invocation: Invocation<Args>,
    options: OncePerTickOptions<Args, Store, Standby>,
  ): Promise<AttemptOutcome<Result>> {
    const { retentionMs = DEFAULT_RETENTION_MS, catchUp, signal, election } = options;
    const delivered = (options.occurrence ?? this.#platform.occurrence)?.(...invocation.args) as Occurrence;
    occurrenceId(delivered, PASS_OCCURRENCE);
    const { name, scheduledMs } = delivered;
    const earlier = catchUp ? earlierOccurrences(delivered, catchUp, retentionMs, this.#clock.wallMs()) : [];
    const failures: unknown[] = [];
    const noteFailure = (error: unknown): undefined => void failures.push(error);
    const outcome = await this.#leadOccurrence(invocation, options, { name, scheduledMs, caughtUp: false }).catch(noteFailure);
    let last = outcome;
    for (const occurrence of earlier) {
      if (isUnavailable(last) || this.#clock.monotonicMs() >= invocation.endMs || signal?.aborted) break;
      const claim = { ...occurrence, caughtUp: true };
      last = await this.#leadOccurrence(this.#continued(invocation), options, claim).catch(noteFailure);
    }
    if (failures.length > 1) throw new AggregateError(failures, `${failures.length} occurrences of '${election}' failed.`);
    if (!outcome || failures.length > 0) throw failures[0];
    return outcome;
  }

  /** Leads for one occurrence, which is done once the handler has settled well. */
  async #leadOccurrence(
    invocation: Invocation<Args>,
    options: OncePerTickOptions<Args, Store, Standby>,
    claim: Claim,
  ): Promise<AttemptOutcome<Result>> {
    const store = occurrencesFor(options);
    return await this.#attempt(invocation, { store, election: occurrenceId(claim, PASS_OCCURRENCE) }, async (leadership) => {
      const result = await this.#handle(invocation, leadership, store, claim);
      await completeInTime(leadership, this.#clock, invocation.platformEndMs);
      return result;
    });
  }

  async #attempt<Leases extends LeaseStore>(
    { args, endMs, budget }: Invocation<Args>,
    options: Pick<AttemptOptions<Leases>, "store" | "election" | "minimumHoldMs" | "reservation">,
    task: LeaderTask<Result, LeadershipOf<Leases>>,
  ): Promise<AttemptOutcome<Result>> {
    const { value, renewal, signal, logger } = this.#options;
    return await attemptInTime(
      {
        ...options,
        ...budget.timing,
        releaseTimeoutMs: budget.releaseTimeoutMs,
        clock: this.#clock,
        candidateId: label(this.#platform.candidateId?.(...args)),
        value,
        renewal: renewal === "background" ? "scheduled" : "manual",
        signal,
        logger,
        endMs,
      },
      task,
    );
  }

  async #handle({ args }: Invocation<Args>, leadership: Leadership, store: LeaseStore, claim?: Claim): Promise<Result> {
    const renewsByHand = this.#options.renewal !== "background";
    const occurrence = claim && { ...claim, id: leadership.election, attempt: leadership.term };
    return await this.#handler(...args, functionLeadership<Store>(leadership, store, renewsByHand, occurrence));
  }
}

function isUnavailable(outcome: AttemptOutcome<unknown> | undefined): boolean {
  return outcome !== undefined && "unavailable" in outcome;
}

/** Returns a label that any store takes: the text may come from a request. */
function label(text: string | undefined): string | undefined {
  return text?.replace(/[^\x20-\x7e]/g, "?").slice(0, MAX_NAME_BYTES);
}
