import { ForeignRecordError } from "@leasehold/core";
import type { Administered, Order, OrderLimits, Standing } from "@leasehold/core/provider";
import { conditionFailed, failureOf, lossOf, STORE_NAME } from "./azure-blob-errors.ts";
import type { StoreParts } from "./parts.ts";
import { BREAK_AT_EXPIRY_S, BREAK_NOW_S, type BlobRequests } from "./requests.ts";
import { decodeNote, encodeNote, encodeTerm, NOTE_SUFFIX, type BreakNote, type OrderNote } from "./schema.ts";
import { isFree, orderOf, reservationLeft, type Reading } from "./sighting.ts";

/** Returns the store as core's `Administration` needs it, which gives the orders: breaks and transfers. */
export function administered(parts: StoreParts): Administered {
  return { name: STORE_NAME, clock: parts.clock, look: async (election, limits) => await standingOf(parts, election, limits) };
}

async function standingOf(
  { requests, reader }: StoreParts,
  election: string,
  limits: OrderLimits,
): Promise<Standing | undefined> {
  const found = await reader.read(election, limits);
  if (!found) return undefined;
  return {
    snapshot: reader.snapshot(election, found),
    lastHolder: found.term.candidateId,
    isCarriedOut: (order) => isCarriedOut(found, order),
    carryOut: async (order) => {
      // An order changes a free blob's metadata, so that what this process has seen of it is void.
      if (isFree(found)) reader.forget(election);
      return await carryOut(requests, election, found, order, limits);
    },
  };
}

/** Returns whether that very order stands in what was found. */
function isCarriedOut(found: Reading, order: Order): boolean {
  if (orderOf(found)?.id !== order.id) return false;
  // A note is written before the break that it is for.
  return found.term.order?.id === order.id || found.leaseState === "broken" || !endsAtOnce(found, order);
}

/**
 * Carries out an administrator's order, if nobody has written to the blob since the read. A lease is broken, after a note
 * beside the blob has said why or for whom; where nobody has it, the order is written into the metadata.
 */
async function carryOut(
  requests: BlobRequests,
  election: string,
  found: Reading,
  order: Order,
  limits: OrderLimits,
): Promise<boolean> {
  try {
    if (isFree(found)) await writeOrder(requests, election, found, order, limits);
    else await breakLease(requests, election, found, order, limits);
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
  found: Reading,
  order: Order,
  limits: OrderLimits,
): Promise<void> {
  await writeNote(requests, election, { ...noteOf(order), term: found.term.term, after: found.term.order?.id }, limits);
  await requests.break(election, found.etag, endsAtOnce(found, order) ? BREAK_NOW_S : BREAK_AT_EXPIRY_S, limits);
}

/**
 * Nobody leads, so what the last leader published makes room. A break ends what was reserved; of that, a transfer leaves
 * what is left: what an administrator writes is no sign of life of the group.
 */
async function writeOrder(
  requests: BlobRequests,
  election: string,
  found: Reading,
  order: Order,
  limits: OrderLimits,
): Promise<void> {
  const { metadata, etag } = found;
  const { term: number, termId, candidateId, leaseDurationMs } = found.term;
  const reservation = order.kind === "break" ? undefined : reservationLeft(found, found.seenMs);
  const ordered = { term: number, termId, candidateId, leaseDurationMs, reservation, order: noteOf(order) };
  await requests.setMetadata("order", election, undefined, etag, encodeTerm(ordered, metadata), limits);
}

/** @throws {ForeignRecordError} if what lies at the note's place is not a note. */
async function writeNote(requests: BlobRequests, election: string, note: BreakNote, limits: OrderLimits): Promise<void> {
  const present = await requests.readNote(election, limits);
  if (present && (present.contentLength > 0 || !decodeNote(present.metadata))) {
    throw new ForeignRecordError(
      election,
      `The sibling '${NOTE_SUFFIX}' of ${requests.describe(election)}`,
      "it is not a note of ours",
    );
  }
  await requests.writeNote(election, encodeNote(note), present?.etag, limits);
}

/** A break need not wait for a lease that only holds candidates back: nobody leads on it any more. */
function endsAtOnce({ term }: Reading, order: Order): boolean {
  return order.kind === "break" && (order.immediate || term.holdMs !== undefined);
}

function noteOf(order: Order): OrderNote {
  const { id } = order;
  if (order.kind === "break") return { id, reason: order.reason };
  return { id, transfer: { candidateId: order.candidateId, timeoutMs: order.timeoutMs } };
}
