import { ForeignRecordError } from "@leasehold/core";
import type { Administered, Order, OrderLimits, Standing } from "@leasehold/core/provider";
import { conditionFailed, failureOf, lossOf, STORE_NAME } from "./azure-blob-errors.ts";
import type { StoreParts } from "./parts.ts";
import { BREAK_AT_EXPIRY_S, BREAK_NOW_S, type BlobRequests } from "./requests.ts";
import { decodeNote, encodeNote, encodeTerm, NOTE_SUFFIX, type BreakNote, type OrderNote } from "./schema.ts";
import { isFree, orderOf, type Reading } from "./sighting.ts";

/** An order for the term that a read has found. */
interface OrderWrite {
  readonly requests: BlobRequests;
  readonly election: string;
  readonly found: Reading;
  readonly order: Order;
  readonly limits: OrderLimits;
}

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
      // An order changes a free blob's metadata: what this process remembers of it is void.
      if (isFree(found)) reader.forget(election);
      return await carryOut({ requests, election, found, order, limits });
    },
  };
}

/** Reports whether that very order stands in what was found. */
function isCarriedOut(found: Reading, order: Order): boolean {
  if (orderOf(found)?.id !== order.id) return false;
  // A note is written before the break that it is for.
  return found.term.order?.id === order.id || found.leaseState === "broken" || !endsAtOnce(found, order);
}

/**
 * Carries out the order, on the condition that nobody has written to the blob since the read; reports whether that was so.
 * A lease is broken, after a note beside the blob has said why or for whom. Where nobody has the lease, the order is written
 * into the metadata.
 */
async function carryOut(write: OrderWrite): Promise<boolean> {
  try {
    if (isFree(write.found)) await writeOrder(write);
    else await breakLease(write);
    return true;
  } catch (error) {
    const failure = failureOf(error);
    if (conditionFailed(failure) || lossOf(failure)) return false;
    throw error;
  }
}

async function breakLease({ requests, election, found, order, limits }: OrderWrite): Promise<void> {
  await writeNote(requests, election, { ...noteOf(order), term: found.term.term, after: found.term.order?.id }, limits);
  await requests.break(election, found.etag, endsAtOnce(found, order) ? BREAK_NOW_S : BREAK_AT_EXPIRY_S, limits);
}

/** Writes the order in place of what the last leader published and reserved: nobody leads, and the administrator decides who may. */
async function writeOrder({ requests, election, found, order, limits }: OrderWrite): Promise<void> {
  const { metadata, etag } = found;
  const { term, termId, candidateId, leaseDurationMs } = found.term;
  const ordered = { term, termId, candidateId, leaseDurationMs, order: noteOf(order) };
  await requests.setMetadata("order", election, undefined, etag, encodeTerm(ordered, metadata), limits);
}

/** @throws {ForeignRecordError} if another blob stands in the note's place. */
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

/**
 * Reports whether the order waits for no lease. A break need not wait for one that only holds candidates back: nobody
 * leads on it.
 */
function endsAtOnce({ term }: Reading, order: Order): boolean {
  return order.kind === "break" && (order.immediate || term.holdMs !== undefined);
}

function noteOf(order: Order): OrderNote {
  const { id } = order;
  if (order.kind === "break") return { id, reason: order.reason };
  return { id, transfer: { candidateId: order.candidateId, timeoutMs: order.timeoutMs } };
}
