import {
  type Reservation,
  endTerm,
  holderElapsedMs,
  shareLimits,
  type ReleaseOptions,
  type ReleaseOutcome,
  type RequestLimits,
} from "@leasehold/core/provider";
import { conditionFailed, failureOf, lossOf } from "./azure-blob-errors.ts";
import type { HeldBlobLease } from "./holding.ts";
import type { StoreParts } from "./parts.ts";
import { BREAK_AT_EXPIRY_S, type CallLimits } from "./requests.ts";
import { rewriteTerm } from "./term-rewrite.ts";

/** A release restarts a reservation if more than this part of it has passed. */
const STALE_RESERVATION = 0.1;

/**
 * Ends the term and frees its lease.
 *
 * A hold takes two requests. The first marks the term as over, under its lease. The second breaks the lease with the hold as the
 * break's period. While the lease is breaking, the service lets no candidate acquire it.
 */
export async function releaseLease(
  parts: StoreParts,
  holding: HeldBlobLease,
  { holdMs = 0, ...given }: ReleaseOptions,
): Promise<ReleaseOutcome> {
  const limits = shareLimits(parts.clock, given);
  parts.reader.sawEnd(holding);
  if (holding.transferring) return "not-held";
  if (holdMs > 0) return await breakForHold(parts, holding, Math.min(Math.ceil(holdMs / 1_000), BREAK_AT_EXPIRY_S), limits);
  return await free(parts, holding, limits);
}

async function free(parts: StoreParts, holding: HeldBlobLease, limits: RequestLimits): Promise<ReleaseOutcome> {
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

/**
 * Ends the term, and blocks all candidates, also this process's, for `seconds`, or for the rest of the lease if that is shorter.
 */
async function breakForHold(
  parts: StoreParts,
  holding: HeldBlobLease,
  seconds: number,
  limits: RequestLimits,
): Promise<ReleaseOutcome> {
  const { requests, reader } = parts;
  try {
    const reservation = await reservationLeft(parts, holding, limits).catch(() => holding.term.reservation);
    // The write is under the lease, and so succeeds only while this process holds it. It shows readers that there is no leader
    // any more. It shows the next leader that a break may still be under way.
    const { term, history: before } = holding.term;
    const history = endTerm({ term, termId: null, history: before }, parts.clock.wallMs());
    await rewriteTerm(parts, "leave", holding, { value: undefined, reservation, holdMs: seconds * 1_000, history }, limits);
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
 * Restarts the time of a reservation at the end of the term, if much of it has passed. Only a write to the blob restarts it,
 * and renewals and releases of the lease are no such writes. The term ends even if this fails.
 */
async function renewReservation(parts: StoreParts, holding: HeldBlobLease, limits: RequestLimits): Promise<void> {
  const { reservation } = holding.term;
  if (!reservation) return;
  try {
    const left = await reservationLeft(parts, holding, limits);
    const stale = holderElapsedMs(parts.clock, holding.writtenAt) > reservation.durationMs * STALE_RESERVATION;
    if (!left || stale) await rewriteTerm(parts, "leave", holding, { reservation: left }, limits);
    // The read and the write have recorded this term as present again, but it is over.
    parts.reader.sawEnd(holding);
  } catch {
    // After a failure the reservation counts from its earlier start, or continues although an administrator has ended it. The
    // lease is released all the same.
  }
}

/**
 * Returns the reservation that follows the term. Returns none if an administrator has broken the term, which its holder may not
 * know yet.
 */
async function reservationLeft(
  { reader }: StoreParts,
  { lease, term: { reservation } }: HeldBlobLease,
  limits: CallLimits,
): Promise<Reservation | undefined> {
  const found = reservation && (await reader.read(lease.election, limits));
  return found?.note?.reason === undefined ? reservation : undefined;
}
