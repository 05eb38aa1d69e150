import type { Clock, Timer } from "../time/clock.ts";
import { isLeaseholdError, type StoreError } from "../reporting/errors.ts";
import type { Lease, LeaseStore, RenewOutcome } from "../store/lease-store.ts";
import { publishedRenewal } from "./elector-channels.ts";
import type { Timing } from "./timing.ts";
import type { Validity } from "./validity.ts";

/** A renewal sent this much before its tick, by a timer that ran early, counts as that tick's. */
const TICK_SLACK_MS = 5;
/** The first wait before a failed renewal is tried again; it doubles from there. */
const FIRST_RETRY_MS = 100;

/** A term that is renewed. */
export interface RenewedTerm {
  /** The time for which renewing is of use; negative once it is of none. */
  readonly toDeadlineMs: number;
  /** Lets the clocks decide whether the term is over. */
  isOver(): boolean;
  renewed(outcome: RenewOutcome): void;
  renewFailed(error: unknown): void;
}

export interface RenewalsOptions {
  readonly clock: Clock;
  readonly store: LeaseStore;
  readonly lease: Lease;
  readonly timing: Timing;
  readonly validity: Validity;
  /** The sender: a timer, or the task itself. */
  readonly by: "scheduled" | "manual";
}

/**
 * The holder's requests during one term, one at a time: renewals on a fixed grid, and what the task publishes.
 *
 * After a failure there is always a *last try*: a whole attempt that ends with the deadline. Nothing else is under way
 * when it begins, so that an outage that ends before it does no harm, whatever was sent meanwhile.
 */
export class Renewals {
  readonly #options: RenewalsOptions;
  readonly #term: RenewedTerm;
  readonly #clock: Clock;
  readonly #timing: Timing;
  /** One request at a time, so that a late renewal cannot follow a release. */
  #requests: Promise<unknown> = Promise.resolve();
  #publishing: Promise<unknown> = Promise.resolve();
  /** The renewal under way that the task asked for. */
  #asked: Promise<void> | undefined;
  #failures = 0;
  #closed = false;
  #timer: Timer | undefined;

  constructor(term: RenewedTerm, options: RenewalsOptions) {
    this.#term = term;
    this.#options = options;
    this.#clock = options.clock;
    this.#timing = options.timing;
  }

  /** Reports whether the lease is not to be extended any more. */
  get closed(): boolean {
    return this.#closed;
  }

  start(): void {
    this.#renewIn(this.#toNextTickMs());
  }

  /** Nothing extends the lease any more; a request that is under way is not waited for. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  /** Sends a request once those before it have settled. */
  exclusively<T>(request: () => Promise<T>): Promise<T> {
    const result = this.#requests.then(request);
    this.#requests = result.catch(() => undefined);
    return result;
  }

  /** The time limit of a request that is sent now; not positive once the lease's validity has ended. */
  limitMs(): number {
    const toLastTryMs = this.#toLastTryMs();
    return Math.min(this.#timing.attemptTimeoutMs, toLastTryMs > 0 ? toLastTryMs : this.#options.validity.toEndMs);
  }

  /**
   * Renews if the last renewal is a whole interval ago, by the clocks that its deadline goes by. The outcome is reported
   * by the options.
   */
  async renewIfDue(): Promise<void> {
    if (this.#closed || this.#options.validity.elapsedMs < this.#timing.renewIntervalMs) return;
    this.#asked ??= this.#renew().finally(() => {
      this.#asked = undefined;
    });
    await this.#asked;
  }

  /**
   * One publication at a time before it queues with the renewals: these never wait for more than one of them, and a last
   * try for none. What it came to is reported before the next request, which may wait for a last try.
   */
  publish(publication: () => Promise<RenewOutcome>): Promise<RenewOutcome> {
    const outcome = this.#publishing.then(() =>
      this.exclusively(async () => {
        // A renewal that is found to have arrived may be an old one, which takes another.
        for (let tries = 0; tries < 2 && this.#isLastTryDue; tries += 1) this.#renewed(await this.#send());
        const result = await publication();
        this.#term.renewed(result);
        return result;
      }),
    );
    this.#publishing = outcome.catch(() => undefined);
    return outcome;
  }

  /** Renews now, because the lease may be gone. */
  renewNow(): void {
    this.#renewIn(0);
  }

  #renewIn(delayMs: number): void {
    this.#timer?.cancel();
    if (this.#closed || this.#options.by === "manual") return;
    this.#timer = this.#clock.setTimer(() => void this.#renew(), delayMs);
  }

  async #renew(): Promise<void> {
    const term = this.#term;
    const sentMs = this.#clock.monotonicMs();
    const isBeforeLastTry = this.#toLastTryMs() > 0;
    try {
      const outcome = await this.exclusively(async () => {
        return term.isOver() || this.#closed || this.#waitsForLastTry ? undefined : await this.#send();
      });
      if (!outcome) return this.#renewIn(this.#toLastTryMs());
      this.#renewed(outcome);
    } catch (error) {
      term.renewFailed(error);
      const isTimeForLastTry = isBeforeLastTry && this.#toLastTryMs() <= 0;
      this.#renewIn(isTimeForLastTry ? 0 : this.#retryInMs(error, this.#clock.monotonicMs() - sentMs));
      this.#failures += 1;
    }
  }

  async #send(): Promise<RenewOutcome> {
    const { store, lease } = this.#options;
    return await publishedRenewal(this.#clock, lease, () => store.renew(lease, { timeoutMs: this.limitMs() }));
  }

  #renewed(outcome: RenewOutcome): void {
    this.#failures = 0;
    this.#term.renewed(outcome);
    this.#renewIn(this.#toNextTickMs());
  }

  /**
   * Returns the time until the next instant of the grid that is not covered by a renewal yet; negative once that has passed.
   */
  #toNextTickMs(): number {
    const { lease, validity } = this.#options;
    const originMs = lease.grantedAt.monotonicMs;
    const { renewIntervalMs } = this.#timing;
    const slackMs = Math.min(TICK_SLACK_MS, renewIntervalMs / 10);
    const ticks = Math.floor((validity.grantedAt.monotonicMs - originMs + slackMs) / renewIntervalMs) + 1;
    return originMs + ticks * renewIntervalMs - this.#clock.monotonicMs();
  }

  /**
   * Returns the time until the last try, whose whole attempt ends with the deadline; negative from then on. A task's own
   * renewals have none.
   */
  #toLastTryMs(): number {
    if (this.#closed || this.#options.by === "manual") return -Infinity;
    return this.#term.toDeadlineMs - this.#timing.attemptTimeoutMs;
  }

  get #isLastTryDue(): boolean {
    return !this.#term.isOver() && !this.#closed && this.#options.by === "scheduled" && this.#toLastTryMs() <= 0;
  }

  /** Reports whether an attempt that began now would be given up for the last try before most stores could answer. */
  get #waitsForLastTry(): boolean {
    const toLastTryMs = this.#toLastTryMs();
    return toLastTryMs > 0 && toLastTryMs < this.#timing.attemptTimeoutMs / 2;
  }

  /**
   * Waits a little longer after each failure, or as long as the service asks, but keeps a last try before the deadline.
   * The time that the attempt took counts: after one that timed out, the next goes out at once.
   */
  #retryInMs(error: unknown, tookMs: number): number {
    const asked = isLeaseholdError(error) ? (error as StoreError).retryAfterMs : undefined;
    const backoffMs = Math.max(Math.min(FIRST_RETRY_MS * 2 ** this.#failures, this.#timing.renewIntervalMs / 4) - tookMs, 0);
    const toLastTryMs = this.#toLastTryMs();
    return toLastTryMs > 0 ? Math.min(Math.max(asked ?? 0, backoffMs), toLastTryMs) : backoffMs;
  }
}
