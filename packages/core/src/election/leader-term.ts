import type { Clock, Instant } from "../time/clock.ts";
import { DrainTimeoutError, LeadershipEndedError, LeaseLostError, type LossReason } from "../reporting/errors.ts";
import type { Lease, LeaseStore, OccurrenceStore, RenewOutcome } from "../store/lease-store.ts";
import { canComplete, Completion } from "./completion.ts";
import { DeadlineWatch, type TimedTerm } from "./deadline-watch.ts";
import { Expected } from "./expected.ts";
import type { HeldLeadership, Leadership } from "./leadership.ts";
import { LeaseWatch } from "./lease-watch.ts";
import { OverrunWatch, type DrainedTerm } from "./overrun-watch.ts";
import { releaseInTime, type TimelyRelease } from "./release.ts";
import { Renewals, type RenewedTerm } from "./renewals.ts";
import { StallWatch } from "./stall-watch.ts";
import type { Timing } from "./timing.ts";
import { Validity } from "./validity.ts";

/** What hears of a term: its elector's terms. None of these may throw. */
export interface LeaderTermHooks {
  renewed(lease: Lease): void;
  renewFailed(lease: Lease, error: unknown): void;
  /** The signal has aborted; the lease may still be held while the task drains. */
  ending(lease: Lease, reason: Error): void;
  /** The task is still pending when it should not be. */
  overrun(lease: Lease, sinceSignalMs: number): void;
  releaseFailed(lease: Lease, error: unknown): void;
  /** The work has settled, and the lease is released or left to expire. */
  finished(lease: Lease, reason: Error | undefined, released: boolean): void;
}

export interface LeaderTermOptions {
  readonly clock: Clock;
  readonly store: LeaseStore;
  readonly lease: Lease;
  readonly timing: Timing;
  readonly releaseOnStop: boolean;
  readonly renewal: "scheduled" | "manual";
  readonly minimumHoldMs: number;
  readonly releaseTimeoutMs: number;
  readonly hooks: LeaderTermHooks;
}

/**
 * One term of leadership, from the confirmed acquisition until the task has settled and the lease is released or left
 * to expire. Three instants govern it, all counted from the send of the last good request, by the larger of two clocks:
 *
 * - the *renew deadline*, when the signal aborts for good, whatever the store is doing;
 * - *valid until* (0.9 of the lease), after which the leadership is over, whatever anybody is doing;
 * - the end of the lease itself, which is what standbys wait for.
 */
export class LeaderTerm<Led extends Leadership> implements RenewedTerm, TimedTerm, DrainedTerm {
  /** For its task, which ends the term by settling: there is nothing to dispose of. */
  readonly leadership: Led;
  readonly #options: LeaderTermOptions;
  readonly #lease: Lease;
  readonly #validity: Validity;
  readonly #renewals: Renewals;
  readonly #deadlineWatch: DeadlineWatch;
  readonly #overrunWatch: OverrunWatch;
  readonly #stallWatch: StallWatch | undefined;
  readonly #leaseWatch: LeaseWatch;
  readonly #completion: Completion | undefined;
  readonly #controller = new AbortController();
  readonly #ended = Promise.withResolvers<Error>();
  readonly #disposed = new Expected<void>();
  readonly #finished = new Expected<void>();
  readonly #settled = new Expected<void>();

  /** The reason for which `isValid()` is false for good; undefined while the clocks decide. */
  #over: Error | undefined;
  /** The work has settled: what follows is no news to anybody. */
  #settling = false;

  constructor(options: LeaderTermOptions) {
    const { clock, store, lease, timing } = options;
    this.#options = options;
    this.#lease = lease;
    this.#validity = new Validity(clock, timing, lease.grantedAt);
    this.#renewals = new Renewals(this, { clock, store, lease, timing, validity: this.#validity, by: options.renewal });
    this.#deadlineWatch = new DeadlineWatch(clock, this);
    this.#overrunWatch = new OverrunWatch(clock, timing, this);
    this.#leaseWatch = new LeaseWatch(clock, () => this.#renewals.renewNow());
    const { stallTimeoutMs } = timing;
    this.#stallWatch =
      stallTimeoutMs === undefined
        ? undefined
        : new StallWatch(clock, stallTimeoutMs, (silentMs) => this.end(stalled(lease, silentMs, stallTimeoutMs)));
    this.#completion = canComplete(store) ? new Completion(() => this.#complete(store)) : undefined;
    this.leadership = this.#makeLeadership();
  }

  get term(): number {
    return this.#lease.term;
  }

  /** From before the send of the request that won it: its renewals are on a grid from there. */
  get grantedAt(): Instant {
    return this.#lease.grantedAt;
  }

  /** Reports whether the term is neither over nor ending. */
  get mayWork(): boolean {
    return this.#isValid() && !this.#isEnding;
  }

  /** The reason for which the signal aborted, if it has. */
  get endReason(): Error | undefined {
    return this.#isEnding ? (this.#controller.signal.reason as Error) : undefined;
  }

  /** Starts renewing and watching the clock. */
  start(): void {
    this.#deadlineWatch.start();
    this.#stallWatch?.start();
    this.#renewals.start();
    this.#leaseWatch.start(this.#options.store, this.#lease);
  }

  /** Aborts the signal, for good; renewals go on only to cover the drain. */
  end(reason: Error): void {
    if (this.#isEnding) return;
    this.#stallWatch?.cancel();
    this.#overrunWatch.start();
    this.#controller.abort(reason);
    this.#ended.resolve(reason);
    if (!this.#settling) this.#options.hooks.ending(this.#lease, reason);
  }

  /** Ends the term because the elector itself is to stop. */
  stop(reason: Error): void {
    this.#overrunWatch.stop();
    this.end(reason);
  }

  /** Resolves when a leadership held by hand has been disposed of. */
  get disposed(): Promise<void> {
    return this.#disposed.promise;
  }

  /** Resolves when the work has settled and the lease is released or left to expire. */
  get finished(): Promise<void> {
    return this.#finished.promise;
  }

  /**
   * Resolves as `finished` does. Rejects with a {@link DrainTimeoutError} if the elector is stopping and the work is still pending
   * when its time is up.
   */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  /** Waits for the work to settle, then releases the lease where that is still ours to do. Never rejects. */
  async finish(work: Promise<unknown>): Promise<void> {
    const isFailed = await work.then(
      () => false,
      () => true,
    );
    this.checkClock();
    const reason = this.endReason;
    const released = new LeadershipEndedError(this.#lease.election, this.term, "released", "its task has settled.");
    const { hooks, store, releaseOnStop } = this.#options;
    const isUnknown = this.#completion?.state === "unknown";
    const mayRelease = (!this.#over || isUnknown) && (!this.#overrunWatch.stopping || releaseOnStop);
    // Before the request goes out: from then on a rival may hold the lease.
    this.#over ??= reason ?? released;
    this.#settling = true;
    this.end(released);
    this.#cancelTimers();
    const isReleased = this.#completion?.state === "confirmed" || (mayRelease && (await this.#release(isFailed)));
    if (!isReleased) store.forget?.(this.#lease);
    hooks.finished(this.#lease, reason, isReleased);
    this.#finished.resolve();
    this.#settled.resolve();
  }

  /** What has failed is not done: it holds nobody back. */
  async #release(isFailed: boolean): Promise<boolean> {
    // Settled before validUntil: release. After it, never.
    const { clock, store, minimumHoldMs, releaseTimeoutMs, hooks } = this.#options;
    const heldMs = clock.monotonicMs() - this.#lease.grantedAt.monotonicMs;
    const holdMs = isFailed ? 0 : minimumHoldMs - heldMs;
    const release: TimelyRelease = {
      clock,
      timeoutMs: () => Math.min(this.#renewals.limitMs(), releaseTimeoutMs),
      send: (limits) => store.release(this.#lease, { ...limits, ...(holdMs > 0 ? { holdMs } : {}) }),
    };
    return await this.#renewals
      .exclusively(() => releaseInTime(release))
      .catch((error: unknown) => {
        hooks.releaseFailed(this.#lease, error);
        return false;
      });
  }

  /** As {@link TimedTerm} has it, whatever timers have run or not: first whether the term is over, then whether it is ending. */
  checkClock(): void {
    if (this.#over) return;
    const { elapsedMs } = this.#validity;
    const { validForMs, renewDeadlineMs } = this.#options.timing;
    if (elapsedMs >= validForMs) {
      this.#lose(
        "expired",
        `its last good renewal was sent ${Math.round(elapsedMs)} ms ago, and it was valid for ${validForMs} ms.`,
      );
    } else if (elapsedMs >= renewDeadlineMs && !this.#isEnding) {
      const hint = this.#options.renewal === "manual" ? "; its task is to renew it more often" : "";
      const explanation = `no renewal was confirmed for ${Math.round(elapsedMs)} ms (renewDeadlineMs ${renewDeadlineMs})${hint}.`;
      this.end(this.#lostError("renew-deadline", explanation));
    }
  }

  /** The leadership is over at once. The state goes first, the signal after it. */
  #lose(reason: LossReason, explanation: string): void {
    if (this.#over) return;
    const error = this.#lostError(reason, explanation);
    this.#over = error;
    this.#overrunWatch.uncover();
    this.#renewals.close();
    this.#leaseWatch.cancel();
    this.#deadlineWatch.cancel();
    this.end(error);
  }

  #lostError(reason: LossReason, explanation: string): LeaseLostError {
    return new LeaseLostError(this.#lease.election, this.term, reason, explanation, this.endReason);
  }

  async #renewIfDue(): Promise<void> {
    this.#assertValid();
    await this.#renewals.renewIfDue();
    this.#assertValid();
  }

  isOver(): boolean {
    return !this.#isValid();
  }

  renewed(outcome: RenewOutcome): void {
    // First what the clocks say without the new grant: a success that comes too late proves nothing about the time between.
    this.checkClock();
    if (this.#over) return;
    if (!outcome.held) {
      if (outcome.barredUntilExpiry) this.#closeRenewal(outcome.reason, outcome.explanation);
      else this.#lose(outcome.reason, `${outcome.explanation}.`);
      return;
    }
    const { extendedAt, transferTo } = outcome;
    if (extendedAt && this.#validity.extend(extendedAt)) {
      // The grant found may be an old one, of a request whose reply was lost.
      this.checkClock();
      this.#options.hooks.renewed(this.#lease);
    }
    if (transferTo !== undefined) {
      const explanation = `an administrator asked to hand over to '${transferTo}'.`;
      this.end(new LeadershipEndedError(this.#lease.election, this.term, "transferred", explanation));
    }
  }

  renewFailed(error: unknown): void {
    this.checkClock();
    this.#options.hooks.renewFailed(this.#lease, error);
  }

  overran(sinceSignalMs: number): void {
    this.#renewals.close();
    this.#options.hooks.overrun(this.#lease, sinceSignalMs);
  }

  stopOverran(waitedMs: number): void {
    this.#settled.reject(new DrainTimeoutError(this.#lease.election, this.term, waitedMs));
  }

  /** Renewal is closed, but nobody may acquire before the lease has run out: what remains of it covers the drain. */
  #closeRenewal(reason: LossReason, explanation: string): void {
    this.#renewals.close();
    this.end(this.#lostError(reason, `${explanation}.`));
  }

  async #publish(value: string): Promise<void> {
    const outcome = await this.#renewals.publish(async () => {
      this.#assertValid();
      // On most stores it extends the lease, as a renewal does: where renewing is closed, so is this.
      if (this.#renewals.closed) throw this.endReason as Error;
      return await this.#options.store.publish(this.#lease, value, { timeoutMs: this.#renewals.limitMs() });
    });
    this.#assertValid();
    if (!outcome.held) throw this.endReason as Error;
  }

  async #complete(store: OccurrenceStore): Promise<void> {
    const { election } = this.#lease;
    const { clock, releaseTimeoutMs } = this.#options;
    this.#renewals.close();
    this.#deadlineWatch.cancel();
    // Before the request goes out, as for a release.
    this.#over ??= new LeadershipEndedError(election, this.term, "completed", "it is done.");
    const completion: TimelyRelease = {
      clock,
      timeoutMs: () => releaseTimeoutMs,
      send: (limits) => store.complete(this.#lease, limits),
    };
    if (await this.#renewals.exclusively(() => releaseInTime(completion))) return;
    // Without the reason of the signal as its cause: it tells more than that the task has stopped.
    throw new LeaseLostError(election, this.term, "taken", "another candidate took it over before it was done.");
  }

  get #isEnding(): boolean {
    return this.#controller.signal.aborted;
  }

  /** The time until the clocks end something: the term's signal, and once that has aborted the leadership itself. */
  get toDeadlineMs(): number {
    return this.#isEnding ? this.#validity.toEndMs : this.#validity.toRenewDeadlineMs;
  }

  #isValid(): boolean {
    this.checkClock();
    return this.#over === undefined;
  }

  #assertValid(): void {
    if (!this.#isValid()) throw this.#over as Error;
  }

  #cancelTimers(): void {
    this.#renewals.close();
    this.#leaseWatch.cancel();
    this.#deadlineWatch.cancel();
    this.#stallWatch?.cancel();
    this.#overrunWatch.cancel();
  }

  /** The leadership for a holder by hand, which ends the term by disposing of it. */
  held(): HeldLeadership & Led {
    const release = async (): Promise<void> => {
      this.#disposed.resolve();
      await this.#finished.promise;
    };
    return { ...this.leadership, release, [Symbol.asyncDispose]: release };
  }

  #makeLeadership(): Led {
    const { election, candidateId, term, termId } = this.#lease;
    const completion = this.#completion;
    const leadership: Leadership = {
      election,
      candidateId,
      term,
      termId,
      signal: this.#controller.signal,
      ended: this.#ended.promise,
      isValid: () => this.#isValid(),
      remainingMs: () => (this.#isValid() ? this.#validity.toEndMs : 0),
      assertValid: () => this.#assertValid(),
      checkpoint: () => this.#stallWatch?.checkpoint(),
      renew: () => this.#renewIfDue(),
      publish: (value) => this.#publish(value),
      ...(completion ? { complete: () => completion.complete() } : {}),
    };
    // The elector's type says by its store which leadership that gives.
    return leadership as Led;
  }
}

function stalled({ election, term }: Lease, silentMs: number, stallTimeoutMs: number): LeadershipEndedError {
  const silence = `its task was silent for ${Math.round(silentMs)} ms (stallTimeoutMs ${stallTimeoutMs})`;
  return new LeadershipEndedError(election, term, "stalled", `${silence}; call leadership.checkpoint() more often.`);
}
