import type { OccurrenceLeadership } from "../election/leadership.ts";
import type { Completion } from "../store/lease-snapshot.ts";
import { isLeaseholdError, NotRecordedError, type StoreError } from "../reporting/errors.ts";
import { sleep, type Clock } from "../time/clock.ts";

/** The first wait before a completion is tried again, in milliseconds. It doubles from there. */
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 5_000;

/**
 * Completes an occurrence. Tries while its claim keeps others out, until `endMs` of the monotonic clock; at least once.
 * @throws {LeaseLostError} if another attempt has taken over.
 * @throws {NotRecordedError} otherwise; its `cause` is the error of the last try.
 */
export async function completeWhileClaimed(
  leadership: OccurrenceLeadership,
  clock: Clock,
  endMs: number,
  completion?: Completion,
): Promise<void> {
  const { election, term } = leadership;
  try {
    await completeInTime(leadership, clock, Math.min(clock.monotonicMs() + leadership.remainingMs(), endMs), completion);
  } catch (error) {
    throw isLeaseholdError(error, "LEASE_LOST") ? error : new NotRecordedError(election, term, error);
  }
}

/** As {@link completeWhileClaimed}, but until `endMs`. @throws {LeaseLostError}, else the error of the last try. */
export async function completeInTime(
  leadership: OccurrenceLeadership,
  clock: Clock,
  endMs: number,
  completion?: Completion,
): Promise<void> {
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
    try {
      return await leadership.complete(completion);
    } catch (error) {
      const askedMs = Math.max((error as Partial<StoreError>).retryAfterMs ?? 0, waitMs);
      const isOver = isLeaseholdError(error, "LEASE_LOST") || clock.monotonicMs() + askedMs >= endMs;
      if (isOver) throw error;
      await sleep(clock, askedMs);
    }
  }
}
