import {
  ForeignRecordError,
  closeExpired,
  type AdminStore,
  type Order,
  type OrderLimits,
  type ElectionState,
} from "@leasehold/core/provider";
import { conditionFailed, failureOf, lossOf, STORE_NAME } from "./azure-blob-errors.ts";
import type { StoreParts } from "./parts.ts";
import { BREAK_AT_EXPIRY_S, BREAK_NOW_S, type BlobRequests } from "./requests.ts";
import { decodeNote, encodeNote, encodeTerm, NOTE_SUFFIX, type BreakNote, type OrderNote } from "./schema.ts";
import { isFree, orderOf, pastOf, type BlobReading, type ObservedBlob } from "./observed-blob.ts";

/** An administrator's break or transfer, for the term that a read has found. */
interface OrderWrite {
  readonly requests: BlobRequests;
  readonly election: string;
  readonly found: ObservedBlob;
  readonly order: Order;
  readonly limits: OrderLimits;
}

/** Returns the store in the form that core's `Administration` needs to give orders: breaks and transfers. */
export function administered(parts: StoreParts): AdminStore {
  return { name: STORE_NAME, clock: parts.clock, read: async (election, limits) => await standingOf(parts, election, limits) };
}

async function standingOf(
  { requests, reader }: StoreParts,
  election: string,
  limits: OrderLimits,
): Promise<ElectionState | undefined> {
  const found = await reader.read(election, limits);
  if (!found) return undefined;
  return {
    snapshot: reader.snapshot(election, found),
    lastHolder: found.term.candidateId,
    isCarriedOut: (order) => isCarriedOut(found, order),
    carryOut: async (order) => {
      // An order changes a free blob's metadata, so that the remembered blob is out of date.
      if (isFree(found)) reader.forget(election);
      return await carryOut({ requests, election, found, order, limits });
    },
  };
}

/** Returns whether the blob that was found already has this order. */
function isCarriedOut(found: BlobReading, order: Order): boolean {
  if (orderOf(found)?.id !== order.id) return false;
  // A note is written before its break.
  return found.term.order?.id === order.id || found.leaseState === "broken" || !endsAtOnce(found, order);
}

/**
 * Carries out the order, on the condition that the blob has not been written since the read. Returns false if it has been
 * written. If the lease is free, writes the order into the metadata. Otherwise writes a note beside the blob with the reason or
 * the target, and then breaks the lease.
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

/**
 * Writes the order in place of the value and the reservation of the last leader. There is no leader, and the administrator
 * decides which candidate may lead. The history gets the end of the term, because after the write the lease no longer shows how
 * the term ended.
 */
async function writeOrder({ requests, election, found, order, limits }: OrderWrite): Promise<void> {
  const { metadata, etag } = found;
  const { term, termId, candidateId, leaseDurationMs } = found.term;
  const ordered = {
    term,
    termId,
    candidateId,
    leaseDurationMs,
    order: noteOf(order),
    history: closeExpired(pastOf(found)).history,
  };
  await requests.setMetadata("order", election, undefined, etag, encodeTerm(ordered, metadata), limits);
}

/** @throws {ForeignRecordError} if the blob in the note's place is not a note. */
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

/** Returns whether the order need not wait for the lease. A break need not wait for a hold, because a hold has no leader. */
function endsAtOnce({ term }: BlobReading, order: Order): boolean {
  return order.kind === "break" && (order.immediate || term.holdMs !== undefined);
}

function noteOf(order: Order): OrderNote {
  const { id } = order;
  if (order.kind === "break") return { id, reason: order.reason };
  return { id, transfer: { candidateId: order.candidateId, timeoutMs: order.timeoutMs } };
}
