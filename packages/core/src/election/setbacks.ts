import { isMisuse, isStoreFailure, type StoreError } from "../reporting/errors.ts";
import type { Journal } from "../reporting/journal.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import type { Clock } from "../time/clock.ts";
import type { StoreContact } from "./store-contact.ts";
import type { Timing } from "./timing.ts";

export interface SetbackOptions {
  readonly contact: StoreContact;
  readonly store: LeaseStore;
  readonly clock: Clock;
  readonly timing: Timing;
  /** A refusal of the store's, before it is known to take this process's writes, ends the campaign after a lease. */
  readonly failsFast: boolean;
  readonly journal: Journal;
  readonly onStoreFailed: (error: unknown) => void;
}

/** Failures on the way to the lease: they are told, and waited out, unless they are there to stay. */
export class Setbacks {
  readonly #options: SetbackOptions;

  constructor(options: SetbackOptions) {
    this.#options = options;
  }

  /**
   * The time between two looks of who is pushed nothing. Where the store can push, a retry period may be longer than a lease:
   * looks are aimed at renewals there, also while it does not push.
   */
  get periodMs(): number {
    const { store, timing } = this.#options;
    return store.watch ? Math.min(timing.retryPeriodMs, timing.renewIntervalMs) : timing.retryPeriodMs;
  }

  /**
   * Tells a failure, and returns the time to wait before the next request.
   * @throws it where going on cannot help.
   */
  met(error: unknown): number {
    if (isMisuse(error)) throw error;
    const { clock, timing, onStoreFailed } = this.#options;
    onStoreFailed(error);
    if (isStoreFailure(error)) this.#report(error);
    const askedMs = Math.min((error as Partial<StoreError>)?.retryAfterMs ?? 0, timing.leaseDurationMs);
    return Math.max(askedMs, this.periodMs * (0.5 + clock.random() / 2));
  }

  /** Reports that the store fails, and gives up where it has done nothing but refuse for a whole lease. */
  #report(error: unknown): void {
    const { contact, timing, journal, failsFast } = this.#options;
    const { leaseDurationMs } = timing;
    const { refusedMs } = contact;
    const givesUpInMs = failsFast && refusedMs !== undefined ? leaseDurationMs - refusedMs : Infinity;
    if (givesUpInMs <= 0) throw error;
    const leftS = Math.ceil(givesUpInMs / 1_000);
    const consequence = leftS < Infinity ? `If nothing else comes of it, this campaign is given up in ${leftS} s.` : undefined;
    contact.report({ journal, leaseDurationMs, consequence });
  }
}
