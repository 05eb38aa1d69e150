import { holderElapsedMs, instantOf, type Clock, type Instant, type Timer } from "../time/clock.ts";
import {
  DrainTimeoutError,
  LeadershipEndedError,
  LeaseLostError,
  UnsupportedError,
  type LossReason,
} from "../reporting/errors.ts";
import type { Lease, LeaseStore, RenewOutcome } from "../store/lease-store.ts";
import type { HeldLeadership } from "./leadership.ts";
import { releaseInTime, type TimelyRelease } from "./release.ts";
import { Renewals } from "./renewals.ts";
import { SAFETY_MARGIN } from "../store/lease-limits.ts";
import type { Timing } from "./timing.ts";
import { Validity } from "./validity.ts";

/** The longest that the clocks go unchecked while a term lasts. */
const CLOCK_CHECK_MS = 1_000;

/** What a tenure tells its elector. None of these may throw. */
export interface TenureHooks {
  renewed(): void;
  renewFailed(error: unknown): void;
  /** The signal has aborted; the lease may still be held while the task drains. */
  ending(reason: Error): void;
  /** The task is still pending when it should not be. */
  overrun(sinceSignalMs: number): void;
  releaseFailed(error: unknown): void;
  /** The work has settled, and the lease is released or left to expire. */
  finished(reason: Error | undefined, released: boolean): void;
}

export interface TenureOptions {
  readonly clock: Clock;
  readonly store: LeaseStore;
  readonly lease: Lease;
  readonly timing: Timing;
  readonly releaseOnStop: boolean;
  readonly renewal: "scheduled" | "manual";
  readonly minimumHoldMs: number;
  readonly releaseTimeoutMs: number;
  readonly hooks: TenureHooks;
}

/**
 * One term of leadership, from the confirmed acquisition until the task has settled and the lease is released or left
 * to expire. Three instants govern it, all counted from the send of the last good request, by the larger of two clocks:
 *
 * - the *renew deadline*, when the signal aborts for good, whatever the store is doing;
 * - *valid until* (0.9 of the lease), after which the leadership is over, whatever anybody is doing;
 * - the end of the lease itself, which is what rivals wait for.
 */
export class Tenure {
  readonly leadership: HeldLeadership;
  readonly #clock: Clock;
  readonly #store: LeaseStore;
  readonly #lease: Lease;
  readonly #timing: Timing;
  readonly #releaseOnStop: boolean;
  readonly #renewal: "scheduled" | "manual";
  readonly #validity: Validity;
  readonly #renewals: Renewals;
  readonly #minimumHoldMs: number;
  readonly #releaseTimeoutMs: number;
  readonly #hooks: TenureHooks;
  readonly #controller = new AbortController();
  readonly #disposed = Promise.withResolvers<void>();
  readonly #finished = Promise.withResolvers<void>();
  readonly #stopOverran = Promise.withResolvers<never>();

  /** Why `isValid()` is false for good; undefined while the clocks decide. */
  #over: Error | undefined;
  /** Since when the lease no longer covers the task. */
  #overAt: Instant | undefined;
  #endedAt: Instant | undefined;
  #stopping = false;
  /** The work has settled: what follows is no news to anybody. */
  #settling = false;
  #overran = false;
  /** What became of the request to complete, if it was sent. */
  #completion: "unknown" | "confirmed" | undefined;
  #completing: Promise<void> | undefined;
  #checkpointMs: number;

  #clockTimer: Timer | undefined;
  #stallTimer: Timer | undefined;
  #overrunTimer: Timer | undefined;

  constructor(options: TenureOptions) {
    this.#clock = options.clock;
    this.#store = options.store;
    this.#lease = options.lease;
    this.#timing = options.timing;
    this.#releaseOnStop = options.releaseOnStop;
    this.#renewal = options.renewal;
    this.#minimumHoldMs = options.minimumHoldMs;
    this.#releaseTimeoutMs = options.releaseTimeoutMs;
    this.#hooks = options.hooks;
    this.#validity = new Validity(options.clock, options.timing, options.lease.grantedAt);
    this.#renewals = new Renewals({
      clock: options.clock,
      store: options.store,
      lease: options.lease,
      timing: options.timing,
      validity: this.#validity,
      by: options.renewal,
      toDeadlineMs: () => (this.#endedAt ? this.#validity.toEndMs : this.#validity.toRenewDeadlineMs),
      isOver: () => !this.#isValid(),
      renewed: (outcome) => this.#take(outcome),
      failed: (error) => {
        this.#checkClock();
        this.#hooks.renewFailed(error);
      },
    });
    this.#checkpointMs = this.#clock.monotonicMs();
    this.leadership = this.#makeLeadership();
    // Whether anybody waits for it depends on how the tenure ends.
    this.#stopOverran.promise.catch(() => undefined);
  }

  get term(): number {
    return this.#lease.term;
  }

  /** Whether the term is neither over nor ending. */
  get mayWork(): boolean {
    return this.#isValid() && !this.#controller.signal.aborted;
  }

  /** Why the signal aborted, if it has. */
  get endReason(): Error | undefined {
    return this.#controller.signal.aborted ? (this.#controller.signal.reason as Error) : undefined;
  }

  /** Starts renewing and watching the clock. */
  start(): void {
    this.#watchClock();
    this.#watchStall();
    this.#renewals.start();
  }

  /** Aborts the signal, for good; renewals go on only to cover the drain. `stopping`: the elector itself is to stop. */
  end(reason: Error, stopping = false): void {
    if (stopping && !this.#stopping) {
      this.#stopping = true;
      if (this.#overran) this.#rejectStop();
    }
    if (this.#endedAt) return;
    this.#endedAt = instantOf(this.#clock);
    this.#stallTimer?.cancel();
    this.#watchOverrun();
    this.#controller.abort(reason);
    if (!this.#settling) this.#hooks.ending(reason);
  }

  /** Resolves when a leadership held by hand has been disposed of. */
  get disposed(): Promise<void> {
    return this.#disposed.promise;
  }

  /** Resolves when the work has settled and the lease is released or left to expire. */
  get finished(): Promise<void> {
    return this.#finished.promise;
  }

  /** Rejects with a {@link DrainTimeoutError} if the elector is stopping and the work is still pending when its time is up. */
  get stopOverran(): Promise<never> {
    return this.#stopOverran.promise;
  }

  /** Waits for the work to settle, then releases the lease where that is still ours to do. Never rejects. */
  async finish(work: Promise<unknown>): Promise<void> {
    await work.catch(() => undefined);
    this.#checkClock();
    const reason = this.endReason;
    const released = new LeadershipEndedError(this.#lease.election, this.term, "released", "its task has settled.");
    const mayRelease = (!this.#over || this.#completion === "unknown") && (!this.#stopping || this.#releaseOnStop);
    // Before the request goes out: from then on a rival may hold the lease.
    this.#over ??= reason ?? released;
    this.#settling = true;
    this.end(released);
    this.#cancelTimers();
    const isReleased = this.#completion === "confirmed" || (mayRelease && (await this.#release()));
    if (!isReleased) this.#store.forget?.(this.#lease);
    this.#hooks.finished(reason, isReleased);
    this.#finished.resolve();
  }

  async #release(): Promise<boolean> {
    // Settled before validUntil: release. After it, never.
    const heldMs = this.#clock.monotonicMs() - this.#lease.grantedAt.monotonicMs;
    const holdMs = this.#minimumHoldMs - heldMs;
    const release: TimelyRelease = {
      clock: this.#clock,
      store: this.#store,
      lease: this.#lease,
      timeoutMs: () => Math.min(this.#renewals.limitMs(), this.#releaseTimeoutMs),
      ...(holdMs > 0 ? { holdMs } : {}),
    };
    return await this.#renewals
      .exclusively(() => releaseInTime(release))
      .catch((error: unknown) => {
        this.#hooks.releaseFailed(error);
        return false;
      });
  }

  /** Lets the clocks decide, whatever timers have run or not: first whether the term is over, then whether it is ending. */
  #checkClock(): void {
    if (this.#over) return;
    const { elapsedMs } = this.#validity;
    if (elapsedMs >= this.#timing.validForMs) {
      this.#lose(
        "expired",
        `its last good renewal was sent ${Math.round(elapsedMs)} ms ago, and it was valid for ${this.#timing.validForMs} ms.`,
      );
    } else if (elapsedMs >= this.#timing.renewDeadlineMs && !this.#endedAt) {
      this.end(
        this.#lostError(
          "renew-deadline",
          `no renewal was confirmed for ${Math.round(elapsedMs)} ms (renewDeadlineMs ${this.#timing.renewDeadlineMs})${this.#renewal === "manual" ? "; its task is to renew it more often" : ""}.`,
        ),
      );
    }
  }

  /** The leadership is over at once. The state goes first, the signal after it. */
  #lose(reason: LossReason, explanation: string): void {
    if (this.#over) return;
    const error = this.#lostError(reason, explanation);
    this.#over = error;
    this.#overAt = instantOf(this.#clock);
    this.#renewals.close();
    this.#clockTimer?.cancel();
    this.end(error);
    this.#watchOverrun();
  }

  #lostError(reason: LossReason, explanation: string): LeaseLostError {
    return new LeaseLostError(this.#lease.election, this.term, reason, explanation, this.endReason);
  }

  #watchClock(): void {
    this.#clockTimer?.cancel();
    if (this.#over) return;
    const toDeadlineMs = this.#endedAt ? this.#validity.toEndMs : this.#validity.toRenewDeadlineMs;
    // Timers stand still with a suspended machine: looking every second finds what the wall clock says soon after it.
    const delayMs = Math.min(Math.max(toDeadlineMs, 0), CLOCK_CHECK_MS);
    this.#clockTimer = this.#clock.setTimer(() => {
      this.#checkClock();
      this.#watchClock();
    }, delayMs);
  }

  #watchStall(): void {
    const { stallTimeoutMs } = this.#timing;
    if (stallTimeoutMs === undefined || this.#endedAt) return;
    this.#stallTimer = this.#clock.setTimer(
      () => {
        const silentMs = this.#clock.monotonicMs() - this.#checkpointMs;
        if (silentMs < stallTimeoutMs) return this.#watchStall();
        return this.end(
          new LeadershipEndedError(
            this.#lease.election,
            this.term,
            "stalled",
            `its task was silent for ${Math.round(silentMs)} ms (stallTimeoutMs ${stallTimeoutMs}); call leadership.checkpoint() more often.`,
          ),
        );
      },
      Math.max(stallTimeoutMs - (this.#clock.monotonicMs() - this.#checkpointMs), 0),
    );
  }

  /**
   * The task's time is up `drainTimeoutMs` after its signal aborted; once nothing covers it any longer, it gets half of
   * the safety margin at most, so that a process that is to end then does so before a rival may lead.
   */
  #watchOverrun(): void {
    if (!this.#endedAt || this.#overran) return;
    this.#overrunTimer?.cancel();
    const { drainTimeoutMs, leaseDurationMs } = this.#timing;
    const drainLeftMs = drainTimeoutMs - holderElapsedMs(this.#clock, this.#endedAt);
    const graceMs = (leaseDurationMs * SAFETY_MARGIN) / 2;
    const graceLeftMs = this.#overAt ? graceMs - holderElapsedMs(this.#clock, this.#overAt) : Infinity;
    this.#overrunTimer = this.#clock.setTimer(() => this.#overrun(), Math.max(Math.min(drainLeftMs, graceLeftMs), 0));
  }

  #overrun(): void {
    if (this.#overran || !this.#endedAt) return;
    this.#overran = true;
    this.#renewals.close();
    this.#hooks.overrun(holderElapsedMs(this.#clock, this.#endedAt));
    if (this.#stopping) this.#rejectStop();
  }

  #rejectStop(): void {
    const waitedMs = this.#endedAt ? holderElapsedMs(this.#clock, this.#endedAt) : 0;
    this.#stopOverran.reject(new DrainTimeoutError(this.#lease.election, this.term, waitedMs));
  }

  async #renewIfDue(): Promise<void> {
    this.#assertValid();
    await this.#renewals.renewIfDue();
    this.#assertValid();
  }

  #take(outcome: RenewOutcome): void {
    // First what the clocks say without the new grant: a success that comes too late proves nothing about the time between.
    this.#checkClock();
    if (this.#over) return;
    if (!outcome.held) {
      if (outcome.barredUntilExpiry) this.#closeRenewal(outcome.reason, outcome.explanation);
      else this.#lose(outcome.reason, `${outcome.explanation}.`);
      return;
    }
    const { extendedAt, transferTo } = outcome;
    if (extendedAt && this.#validity.extend(extendedAt)) {
      // The grant found may be an old one, of a request whose reply was lost.
      this.#checkClock();
      this.#watchClock();
      this.#hooks.renewed();
    }
    if (transferTo !== undefined) {
      const explanation = `an administrator asked to hand over to '${transferTo}'.`;
      this.end(new LeadershipEndedError(this.#lease.election, this.term, "transferred", explanation));
    }
  }

  /** Renewal is closed, but nobody may acquire before the lease has run out: what remains of it covers the drain. */
  #closeRenewal(reason: LossReason, explanation: string): void {
    this.#renewals.close();
    this.end(this.#lostError(reason, `${explanation}.`));
    this.#watchClock();
  }

  async #publish(value: string): Promise<void> {
    const outcome = await this.#renewals.publish(async () => {
      this.#assertValid();
      // On most stores it extends the lease, as a renewal does: where renewing is closed, so is this.
      if (this.#renewals.closed) throw this.endReason as Error;
      return await this.#store.publish(this.#lease, value, { timeoutMs: this.#renewals.limitMs() });
    });
    this.#take(outcome);
    if (!outcome.held) throw this.endReason as Error;
    this.#assertValid();
  }

  async #complete(): Promise<void> {
    const { election } = this.#lease;
    if (!this.#store.capabilities.completion)
      throw new UnsupportedError("Only an occurrence can be completed: an election goes on.", { election });
    if (this.#completion === "confirmed") return;
    this.#completing ??= this.#completeOnce().finally(() => {
      this.#completing = undefined;
    });
    await this.#completing;
  }

  async #completeOnce(): Promise<void> {
    const { election } = this.#lease;
    this.#renewals.close();
    // Before the request goes out, as for a release.
    this.#over ??= new LeadershipEndedError(election, this.term, "completed", "it is done.");
    this.#completion = "unknown";
    const timeoutMs = (): number => this.#releaseTimeoutMs;
    const release = { clock: this.#clock, store: this.#store, lease: this.#lease, timeoutMs, done: true };
    if (!(await this.#renewals.exclusively(() => releaseInTime(release)))) {
      // Without the reason of the signal as its cause: it tells more than that the task has stopped.
      throw new LeaseLostError(election, this.term, "taken", "another candidate took it over before it was done.");
    }
    this.#completion = "confirmed";
  }

  #isValid(): boolean {
    this.#checkClock();
    return this.#over === undefined;
  }

  #assertValid(): void {
    if (!this.#isValid()) throw this.#over as Error;
  }

  #cancelTimers(): void {
    this.#renewals.close();
    this.#clockTimer?.cancel();
    this.#stallTimer?.cancel();
    this.#overrunTimer?.cancel();
  }

  #makeLeadership(): HeldLeadership {
    const { election, candidateId, term, termId } = this.#lease;
    const release = async (): Promise<void> => {
      this.#disposed.resolve();
      await this.#finished.promise;
    };
    return {
      election,
      candidateId,
      term,
      termId,
      signal: this.#controller.signal,
      isValid: () => this.#isValid(),
      remainingMs: () => (this.#isValid() ? this.#validity.toEndMs : 0),
      assertValid: () => this.#assertValid(),
      checkpoint: () => {
        this.#checkpointMs = this.#clock.monotonicMs();
      },
      renew: () => this.#renewIfDue(),
      publish: (value) => this.#publish(value),
      complete: () => this.#complete(),
      release,
      [Symbol.asyncDispose]: release,
    };
  }
}
