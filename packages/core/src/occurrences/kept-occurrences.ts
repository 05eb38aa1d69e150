import { ConfigurationError, UnsupportedError } from "../reporting/errors.ts";
import { duration } from "../store/lease-limits.ts";
import type { LeaseStore, OccurrenceStore } from "../store/lease-store.ts";

const DAY_MS = 86_400_000;
export const DEFAULT_RETENTION_MS: number = 7 * DAY_MS;

/** @throws {ConfigurationError} for a retention of less than a day, because a delivery may be that late. */
export function checkRetention(retentionMs: unknown): void {
  if (duration("retentionMs", retentionMs) >= DAY_MS) return;
  throw new ConfigurationError(
    `retentionMs is ${String(retentionMs)}; a delivery may be up to a day late, so it must be at least ${DAY_MS}.`,
  );
}

/**
 * Returns the occurrences of a schedule, as a new store, so that a long-lived process forgets past occurrences.
 * @throws {UnsupportedError} if the store keeps no occurrences, or cannot tell when a claim has run out.
 */
export function occurrencesOf(store: LeaseStore, schedule: string, retentionMs: number, whose: string): OccurrenceStore {
  const occurrences = store.occurrences?.(schedule, { retentionMs });
  if (!occurrences) {
    throw new UnsupportedError(`${store.name} cannot keep occurrences: ${whose} needs a store that can.`, { election: schedule });
  }
  const { expiry, storeClock } = occurrences.capabilities;
  if (expiry === "native" || storeClock) return occurrences;
  throw new UnsupportedError(
    `${store.name} has no clock that shows how old a claim is: ${whose}, which remembers nothing, could never take over from a claimant that died.`,
    { election: schedule },
  );
}
