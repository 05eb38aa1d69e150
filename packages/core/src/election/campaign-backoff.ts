import { isMisuse, isStoreFailure, type StoreError } from "../reporting/errors.ts";
import type { ElectorParts } from "./elector-options.ts";

export interface CampaignBackoffOptions extends ElectorParts {
  /** True if a whole lease of refusals ends the campaign. This applies until the store has accepted a write of this process. */
  readonly failsFast: boolean;
  readonly onStoreFailed: (error: unknown) => void;
}

/** Handles campaign failures: reports, backs off, and rethrows those that a retry cannot fix. */
export class CampaignBackoff {
  readonly #options: CampaignBackoffOptions;

  constructor(options: CampaignBackoffOptions) {
    this.#options = options;
  }

  /** The time between two polls without pushes. Where the store can push, `retryPeriodMs` may be longer than a lease. */
  get periodMs(): number {
    const { store, timing } = this.#options;
    return store.watch ? Math.min(timing.retryPeriodMs, timing.renewIntervalMs) : timing.retryPeriodMs;
  }

  /** Reports a failure, and returns the milliseconds to wait. @throws the failure itself if a retry cannot help. */
  next(error: unknown): number {
    if (isMisuse(error)) throw error;
    const { clock, timing, onStoreFailed } = this.#options;
    onStoreFailed(error);
    if (isStoreFailure(error)) this.#report(error);
    const askedMs = Math.min((error as Partial<StoreError>)?.retryAfterMs ?? 0, timing.leaseDurationMs);
    return Math.max(askedMs, this.periodMs * (0.5 + clock.random() / 2));
  }

  #report(error: unknown): void {
    const { contact, timing, journal, failsFast } = this.#options;
    const { leaseDurationMs } = timing;
    const { refusedMs } = contact;
    const givesUpInMs = failsFast && refusedMs !== undefined ? leaseDurationMs - refusedMs : Infinity;
    if (givesUpInMs <= 0) throw error;
    const leftS = Math.ceil(givesUpInMs / 1_000);
    const consequence = leftS < Infinity ? `If the store keeps refusing, this campaign ends in ${leftS} s.` : undefined;
    contact.report({ journal, leaseDurationMs, consequence });
  }
}
