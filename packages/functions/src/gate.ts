import {
  ConfigurationError,
  type Leadership,
  type LeaderTask,
  type OccurrenceLeadership,
  type LeaseStore,
  type LeaseStoreCapabilities,
} from "@leasehold/core";
import { type Clock, type OccurrenceStore, sharedClock } from "@leasehold/core/provider";
import {
  type LeadershipOf,
  type NotRun,
  checkWhenDue,
  DEFAULT_RETENTION_MS,
  earlierOccurrences,
  fenceOf,
  type FenceOf,
  latestBegin,
  noteRun,
  outcomeOfOver,
  type LatestBegin,
  runClaimed,
  type Settled,
  occurrenceId,
  type AttemptOutcome,
  type Occurrence,
} from "@leasehold/core/occurrences";
import type { AttemptOptions } from "./attempt-in-time.ts";
import { claimValue } from "./claim-value.ts";
import { refuseUnscheduled, warnOfDeliveryLimit } from "./delivery-source.ts";
import { functionLeadership, type FunctionLeadership } from "./function-leadership.ts";
import { begin, budgetNow, type Invocation } from "./invocation.ts";
import { InvocationReport } from "./invocation-report.ts";
import { PASS_OCCURRENCE } from "./occurrence.ts";
import { lead, type LeadOptions } from "./lead.ts";
import { checkGateOptions, leasesOf, occurrencesFor, reservationOf } from "./option-checks.ts";
import { warnOfRate } from "./rate-schedule-warning.ts";
import type { AnyOptions, NotElected, OncePerTickOptions, OnlyAsLeaderOptions, SkipReason } from "./options.ts";
import type { Platform } from "./platform.ts";

/** A user's handler. It gets its own arguments, and after them the leadership. */
export type LeaderHandler<Args extends readonly unknown[], Store, Result> = (
  ...args: [...args: Args, leadership: FunctionLeadership<Store>]
) => Result | Promise<Result>;

/** Wraps a handler so that it runs only as leader. The README explains the three gates. */
export function gate<Args extends readonly unknown[], Store extends LeaseStore, Result, Standby = NotElected>(
  platform: Platform<Args>,
  options: OnlyAsLeaderOptions<Args, Store, Standby>,
  handler: LeaderHandler<Args, Store, Result>,
): (...args: Args) => Promise<Result | Standby> {
  const gated = new GatedHandler(platform, options, handler);
  return async (...args) => await gated.deliver(args);
}

type Waits = Pick<LeadOptions<LeaseStore>, "waitEndMs" | "openEndMs" | "mayBeHeldBack">;

/** An occurrence that an invocation tries to claim. */
type Claim = Occurrence & { readonly caughtUp: boolean };

/** An occurrence that this invocation has claimed, on its way to the handler. */
interface ClaimedRun {
  readonly claim: Claim;
  readonly leadership: OccurrenceLeadership;
  readonly store: OccurrenceStore;
  readonly latest: LatestBegin | undefined;
}

/** The outcome of a delivery. With a `NotRun` the occurrence was claimed, and is completed. */
type GateOutcome<T> = AttemptOutcome<T> | { readonly elected: false; readonly reason: NotRun; readonly leader?: undefined };

/** The reasons of a delivery whose work is still to be done. */
const NEEDS_REDELIVERY: ReadonlySet<string> = new Set<SkipReason>(["claimed", "held-back", "unavailable"]);

class GatedHandler<Args extends readonly unknown[], Store extends LeaseStore, Result, Standby> {
  readonly #platform: Platform<Args>;
  readonly #options: OnlyAsLeaderOptions<Args, Store, Standby>;
  readonly #handler: LeaderHandler<Args, Store, Result>;
  readonly #clock: Clock;
  readonly #capabilities: LeaseStoreCapabilities;

  /** @throws {ConfigurationError} {UnsupportedError} for options that cannot work, before any delivery. */
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
    this.#clock = sharedClock(options.store, options.clock);
    this.#capabilities = leasesOf(anyOptions).capabilities;
  }

  async deliver(args: Args): Promise<Result | Standby> {
    const { onUnavailable = "throw", onStandby } = this.#options;
    const invocation = begin(this.#platform, this.#options, { capabilities: this.#capabilities, clock: this.#clock }, args);
    const report = this.#reportOn(invocation);
    const outcome = await this.#lead(invocation, report).catch((error: unknown) => {
      report.failed(error);
      throw error;
    });
    if (outcome.elected) {
      report.ran();
      return outcome.result as Result;
    }
    if ("unavailable" in outcome && onUnavailable === "throw") {
      report.failed(outcome.unavailable);
      throw outcome.unavailable;
    }
    const standby = notElected(outcome);
    report.skipped(standby);
    if (NEEDS_REDELIVERY.has(standby.reason))
      warnOfDeliveryLimit(this.#platform.unscheduled?.(...args), this.#options, invocation.election);
    return onStandby ? await onStandby(standby, ...args) : (standby as Standby);
  }

  #reportOn(invocation: Invocation<Args>): InvocationReport<Args> {
    const { logger, election } = this.#options;
    const electionVaries = typeof election === "function";
    return new InvocationReport({ platform: this.#platform, invocation, electionVaries, logger, clock: this.#clock });
  }

  async #lead(invocation: Invocation<Args>, report: InvocationReport<Args>): Promise<GateOutcome<Result>> {
    const options = this.#options;
    refuseUnscheduled(this.#platform.unscheduled?.(...invocation.args), options, invocation.election);
    if (options.gate === "oncePerTick") return await this.#leadOccurrences(invocation, report, options);
    const { store, minimumHoldMs } = options;
    const { election, waitEndMs, endMs: openEndMs } = invocation;
    const reservation = options.gate === "sticky" ? reservationOf(options) : undefined;
    const lease = { store, election, minimumHoldMs, reservation };
    return await this.#claim(invocation, { lease, waitEndMs, openEndMs, mayBeHeldBack: true }, async (leadership) => {
      const result = await this.#handle(invocation, leadership, fenceOf<Store>(leadership, store, "elections"));
      report.did(leadership.term, false);
      return result;
    });
  }

  /**
   * Leads for the occurrence that was delivered. Then, while there is time, leads for the missed occurrences before it. A failed
   * occurrence does not stop the others. A store that does not answer stops them.
   */
  async #leadOccurrences(
    invocation: Invocation<Args>,
    report: InvocationReport<Args>,
    options: OncePerTickOptions<Args, Store, Standby>,
  ): Promise<GateOutcome<Result>> {
    const { retentionMs = DEFAULT_RETENTION_MS, catchUp, signal } = options;
    const { election } = invocation;
    const delivered = (options.occurrence ?? this.#platform.occurrence)?.(...invocation.args) as Occurrence;
    report.concerns(occurrenceId(delivered, PASS_OCCURRENCE));
    if (!options.occurrence) warnOfRate(delivered, this.#platform.cronGrainMs, options.logger);
    const { name, scheduledMs } = delivered;
    const wallMs = this.#clock.wallMs();
    // Refuse an occurrence that is too old: the store may have deleted the record that it was done.
    checkWhenDue("The occurrence's scheduledMs", { scheduledMs, retentionMs, wallMs });
    const earlier = catchUp ? earlierOccurrences(delivered, catchUp, retentionMs, wallMs) : [];
    const failures: unknown[] = [];
    const noteFailure = (error: unknown): undefined => void failures.push(error);
    const outcome = await this.#leadOccurrence(invocation, report, options, { name, scheduledMs, caughtUp: false }).catch(
      noteFailure,
    );
    let last = outcome;
    for (const occurrence of earlier) {
      if (isUnavailable(last) || this.#clock.monotonicMs() >= invocation.endMs || signal?.aborted) break;
      const claim = { ...occurrence, caughtUp: true };
      last = await this.#leadOccurrence(invocation, report, options, claim).catch(noteFailure);
    }
    if (failures.length > 1) throw new AggregateError(failures, `${failures.length} occurrences of '${election}' failed.`);
    if (!outcome || failures.length > 0) throw failures[0];
    return outcome;
  }

  /** Leads for one occurrence. The occurrence is done once the handler has returned without an error. */
  async #leadOccurrence(
    invocation: Invocation<Args>,
    report: InvocationReport<Args>,
    options: OncePerTickOptions<Args, Store, Standby>,
    claim: Claim,
  ): Promise<GateOutcome<Result>> {
    const store = occurrencesFor(options, invocation.election);
    const latest = claim.caughtUp ? undefined : latestBegin(claim.scheduledMs, options, store);
    const lease = { store, election: occurrenceId(claim, PASS_OCCURRENCE), latest };
    // Try the delivered occurrence again while nobody holds it, because otherwise no process might do it. Try a missed occurrence
    // once.
    const [waitEndMs, openEndMs] = claim.caughtUp ? [0, 0] : [invocation.waitEndMs, invocation.endMs];
    const waits = { lease, waitEndMs, openEndMs, mayBeHeldBack: false };
    const outcome = await this.#claim<OccurrenceStore, Settled<Result>>(invocation, waits, async (leadership) => {
      const settled = await this.#runClaimed(invocation, options, { claim, leadership, store, latest });
      if (!settled.ran) return settled;
      report.did(leadership.term, claim.caughtUp);
      if (!claim.caughtUp) await this.#noteRun(invocation, store, leadership, claim);
      return settled;
    });
    if (!outcome.elected) return outcome;
    const settled = outcome.result as Settled<Result>;
    return settled.ran ? { ...outcome, result: settled.result } : { elected: false, reason: settled.reason };
  }

  /** Runs the handler for a claimed occurrence by the policies of the options, and completes the occurrence. */
  async #runClaimed(
    invocation: Invocation<Args>,
    options: OncePerTickOptions<Args, Store, Standby>,
    { claim, leadership, store: occurrences, latest }: ClaimedRun,
  ): Promise<Settled<Result>> {
    const { store } = options;
    const { election, platformEndMs: endMs } = invocation;
    const run = {
      store,
      election,
      occurrences,
      name: claim.name,
      scheduledMs: claim.scheduledMs,
      policies: options,
      clock: this.#clock,
      latest,
      endMs,
      timing: () => ({
        leaseDurationMs: budgetNow(invocation, options, store.capabilities, this.#clock).timing.leaseDurationMs,
      }),
    };
    return await runClaimed<Result, Store>(run, leadership, (led, fence) => this.#handle(invocation, led, fence, claim));
  }

  async #noteRun(
    { platformEndMs }: Invocation<Args>,
    store: OccurrenceStore,
    { election: occurrence, term: attempt, candidateId }: Leadership,
    { scheduledMs }: Claim,
  ): Promise<void> {
    const run = { occurrence, scheduledMs, attempt, doneMs: this.#clock.wallMs() };
    await noteRun(store, run, { candidateId, leftMs: platformEndMs - this.#clock.monotonicMs() });
  }

  async #claim<Leases extends LeaseStore, T = Result>(
    invocation: Invocation<Args>,
    {
      lease,
      ...waits
    }: Waits & {
      readonly lease: Pick<AttemptOptions<Leases>, "store" | "election" | "minimumHoldMs" | "reservation" | "latest">;
    },
    task: LeaderTask<T, LeadershipOf<Leases>>,
  ): Promise<AttemptOutcome<T>> {
    const { value, signal, logger, onClaimed = "throw" } = this.#options;
    const { candidateId, delivery, endMs, renewal } = invocation;
    const attempt = (): AttemptOptions<Leases> => {
      const { timing, releaseTimeoutMs } = budgetNow(invocation, this.#options, this.#capabilities, this.#clock);
      return {
        ...lease,
        ...timing,
        releaseTimeoutMs,
        clock: this.#clock,
        candidateId,
        value: claimValue(value, delivery),
        renewal: renewal === "background" ? "scheduled" : "manual",
        signal,
        logger,
        endMs,
      };
    };
    return await lead({ attempt, ...waits, delivery, onClaimed }, task);
  }

  async #handle(
    { args, delivery, renewal }: Invocation<Args>,
    leadership: Leadership,
    fence: FenceOf<Store>,
    claim?: Claim,
  ): Promise<Result> {
    const renewsByHand = renewal === "checkpoint";
    const occurrence = claim && { ...claim, id: leadership.election, attempt: leadership.term };
    return await this.#handler(...args, functionLeadership<Store>(leadership, { renewsByHand, delivery, occurrence, fence }));
  }
}

function isUnavailable(outcome: GateOutcome<unknown> | undefined): boolean {
  return outcome !== undefined && "unavailable" in outcome;
}

function notElected(outcome: GateOutcome<unknown> & { readonly elected: false }): NotElected {
  if ("unavailable" in outcome) return { elected: false, reason: "unavailable" };
  const { reason, leader } = outcome;
  if (reason === "done") {
    const { ran: elected, ...over } = outcomeOfOver(outcome.completion);
    return { elected, ...over } as NotElected;
  }
  if (leader) return { elected: false, reason: "claimed", leader };
  return { elected: false, reason: reason === undefined || reason === "busy" ? "held-back" : reason };
}
