import { ForeignRecordError } from "@leasehold/core";
import type { Order, OrderLimits } from "@leasehold/core/provider";
import { conditionFailed, failureOf, lossOf } from "./azure-blob-errors.ts";
import { BREAK_AT_EXPIRY_S, BREAK_NOW_S, type BlobRequests } from "./blob-requests.ts";
import { isFree, orderOf, reservationLeft, type Look } from "./blob-sighting.ts";
import { decodeNote, encodeNote, encodeTerm, NOTE_SUFFIX, type BreakNote, type OrderNote } from "./schema.ts";

/** Whether that very order stands in what was found. */
export function isCarriedOut(look: Look, order: Order): boolean {
  if (orderOf(look)?.id !== order.id) return false;
  // A note is written before the break that it is for.
  return look.term.order?.id === order.id || look.leaseState === "broken" || !endsAtOnce(look, order);
}

/**
 * Carries out an administrator's order, if nobody has written to the blob since the look. A lease is broken, after a note
 * beside the blob has said why or for whom; where nobody has it, the order is written into the metadata.
 */
export async function carryOut(
  requests: BlobRequests,
  election: string,
  look: Look,
  order: Order,
  limits: OrderLimits,
): Promise<boolean> {
  try {
    if (isFree(look)) await writeOrder(requests, election, look, order, limits);
    else await breakLease(requests, election, look, order, limits);
    return true;
  } catch (error) {
    const failure = failureOf(error);
    if (conditionFailed(failure) || lossOf(failure)) return false;
    throw error;
  }
}

async function breakLease(
  requests: BlobRequests,
  election: string,
  look: Look,
  order: Order,
  limits: OrderLimits,
): Promise<void> {
  await writeNote(requests, election, { ...noteOf(order), term: look.term.term, after: look.term.order?.id }, limits);
  await requests.break(election, look.etag, endsAtOnce(look, order) ? BREAK_NOW_S : BREAK_AT_EXPIRY_S, limits);
}

/**
 * Nobody leads, so what the last leader published makes room. A break ends what was reserved; of that, a transfer leaves
 * what is left: what an administrator writes is no sign of life of the group.
 */
async function writeOrder(
  requests: BlobRequests,
  election: string,
  look: Look,
  order: Order,
  limits: OrderLimits,
): Promise<void> {
  const { metadata, etag } = look;
  const { term: number, termId, candidateId, leaseDurationMs } = look.term;
  const reservation = order.kind === "break" ? undefined : reservationLeft(look, look.seenMs);
  const ordered = { term: number, termId, candidateId, leaseDurationMs, reservation, order: noteOf(order) };
  await requests.setMetadata("order", election, undefined, etag, encodeTerm(ordered, metadata), limits);
}

/** @throws {ForeignRecordError} if what lies at the note's place is not a note. */
async function writeNote(requests: BlobRequests, election: string, note: BreakNote, limits: OrderLimits): Promise<void> {
  const found = await requests.readNote(election, limits);
  if (found && (found.contentLength > 0 || !decodeNote(found.metadata))) {
    throw new ForeignRecordError(
      election,
      `The sibling '${NOTE_SUFFIX}' of ${requests.describe(election)}`,
      "it is not a note of ours",
    );
  }
  await requests.writeNote(election, encodeNote(note), found?.etag, limits);
}

/** A break need not wait for a lease that only holds candidates back: nobody leads on it any more. */
function endsAtOnce({ term }: Look, order: Order): boolean {
  return order.kind === "break" && (order.immediate || term.holdMs !== undefined);
}

function noteOf(order: Order): OrderNote {
  const { id } = order;
  if (order.kind === "break") return { id, reason: order.reason };
  return { id, transfer: { candidateId: order.candidateId, timeoutMs: order.timeoutMs } };
}
