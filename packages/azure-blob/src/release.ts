import type { Reservation } from "@leasehold/core";
import {
  holderElapsedMs,
  shareLimits,
  type ReleaseOptions,
  type ReleaseOutcome,
  type RequestLimits,
} from "@leasehold/core/provider";
import { conditionFailed, failureOf, lossOf } from "./azure-blob-errors.ts";
import type { Holding } from "./holding.ts";
import type { StoreParts } from "./parts.ts";
import { BREAK_AT_EXPIRY_S, type CallLimits } from "./requests.ts";
import { rewriteTerm } from "./term-rewrite.ts";

/** A reservation of which more than this part has passed counts anew from the release. */
const STALE_RESERVATION = 0.1;

/**
 * Ends the term and frees its lease.
 *
 * A hold takes two requests: the term is marked as over, under its lease, and then the lease is broken with the hold as
 * the break's period. While the lease breaks nobody can acquire, whoever has asked for what.
 */
export async function releaseLease(
  parts: StoreParts,
  holding: Holding,
  { holdMs = 0, ...given }: ReleaseOptions,
): Promise<ReleaseOutcome> {
  const limits = shareLimits(parts.clock, given);
  parts.reader.sawEnd(holding);
  if (holding.transferring) return "not-held";
  if (holdMs > 0) return await breakForHold(parts, holding, Math.min(Math.ceil(holdMs / 1_000), BREAK_AT_EXPIRY_S), limits);
  return await free(parts, holding, limits);
}

async function free(parts: StoreParts, holding: Holding, limits: RequestLimits): Promise<ReleaseOutcome> {
  const { requests, orphans } = parts;
  const { election, term, termId, leaseDurationMs } = holding.lease;
  try {
    await renewReservation(parts, holding, limits);
    await requests.release(election, holding.leaseId, limits);
    parts.reader.sawReleased(holding);
    return "released";
  } catch (error) {
    if (lossOf(failureOf(error))) return "not-held";
    const untilMs = holding.extendedAt.monotonicMs + leaseDurationMs;
    orphans.add(election, { leaseId: holding.leaseId, term: term - 1, termIds: [termId], untilMs });
    throw error;
  }
}

/** Ends the term, and bars everybody, this process too, for so many seconds or for the rest of the lease. */
async function breakForHold(
  parts: StoreParts,
  holding: Holding,
  seconds: number,
  limits: RequestLimits,
): Promise<ReleaseOutcome> {
  const { requests, reader } = parts;
  try {
    const reservation = await reservationLeft(parts, holding, limits).catch(() => holding.term.reservation);
    // The write is under the lease, and so succeeds only while that is ours. Readers learn from it that nobody leads any
    // more, and the next leader that a break may still be under way.
    await rewriteTerm(parts, "leave", holding, { value: undefined, reservation, holdMs: seconds * 1_000 }, limits);
    reader.sawEnd(holding);
    await requests.break(holding.lease.election, holding.etag, seconds, limits);
    return "released";
  } catch (error) {
    const failure = failureOf(error);
    if (lossOf(failure) || conditionFailed(failure)) return "not-held";
    throw error;
  }
}

/**
 * Makes a reservation that has counted for a while count from the end of the term. Only a write to the blob starts it
 * anew; its lease's renewals and release are no writes. The term ends even if this fails.
 */
async function renewReservation(parts: StoreParts, holding: Holding, limits: RequestLimits): Promise<void> {
  const { reservation } = holding.term;
  if (!reservation) return;
  try {
    const left = await reservationLeft(parts, holding, limits);
    const stale = holderElapsedMs(parts.clock, holding.writtenAt) > reservation.durationMs * STALE_RESERVATION;
    if (!left || stale) await rewriteTerm(parts, "leave", holding, { reservation: left }, limits);
    // The read and the write have shown this term, and it is over.
    parts.reader.sawEnd(holding);
  } catch {
    // It then counts from before, or goes on although it was broken. The lease is released all the same.
  }
}

/**
 * Returns the reservation that follows the term: none if an administrator has broken the term, which its holder may not
 * know yet.
 */
async function reservationLeft(
  { reader }: StoreParts,
  { lease, term: { reservation } }: Holding,
  limits: CallLimits,
): Promise<Reservation | undefined> {
  const found = reservation && (await reader.read(lease.election, limits));
  return found?.note?.reason === undefined ? reservation : undefined;
}
