import { isMisuse, isStoreFailure, type StoreError } from "../reporting/errors.ts";
import type { ElectorParts } from "./elector-options.ts";

export interface CampaignBackoffOptions extends ElectorParts {
  /** True if a whole lease of refusals ends the campaign. This applies until the store has accepted a write of this process. */
  readonly failsFast: boolean;
  readonly onStoreFailed: (error: unknown) => void;
}

/** The time between two polls without pushes. Where the store can push, `retryPeriodMs` may be longer than a lease. */
export function pollPeriodMs({ store, timing }: ElectorParts): number {
  return store.watch ? Math.min(timing.retryPeriodMs, timing.renewIntervalMs) : timing.retryPeriodMs;
}

/** Reports a campaign's failure, and returns the milliseconds to wait. @throws the failure itself if a retry cannot help. */
export function backoffMs(options: CampaignBackoffOptions, error: unknown): number {
  if (isMisuse(error)) throw error;
  const { clock, timing, onStoreFailed } = options;
  onStoreFailed(error);
  if (isStoreFailure(error)) report(options, error);
  const askedMs = Math.min((error as Partial<StoreError>)?.retryAfterMs ?? 0, timing.leaseDurationMs);
  return Math.max(askedMs, pollPeriodMs(options) * (0.5 + clock.random() / 2));
}

function report({ contact, timing, journal, failsFast }: CampaignBackoffOptions, error: unknown): void {
  const { leaseDurationMs } = timing;
  const givesUpInMs = failsFast && contact.refusedMs !== undefined ? leaseDurationMs - contact.refusedMs : Infinity;
  if (givesUpInMs <= 0) throw error;
  const leftS = Math.ceil(givesUpInMs / 1_000);
  const consequence = leftS < Infinity ? `If the store keeps refusing, this campaign ends in ${leftS} s.` : undefined;
  contact.report({ journal, leaseDurationMs, consequence });
}
