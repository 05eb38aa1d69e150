import type { Order } from "../store/administration.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import { isLost } from "./lost-record.ts";
import type { LeaseRecord } from "./record-store.ts";

/**
 * The record of a term that nobody holds any more. What is reserved outlives the holder; and a break stays to be seen, for
 * whoever ordered it and has no reply.
 */
export function vacate({ value: _, holdMs: __, ...record }: LeaseRecord, nonce: string): LeaseRecord {
  return { ...record, termId: null, nonce };
}

/** The state in which a record was found. */
export interface Finding {
  readonly snapshot: LeaseSnapshot;
  /** The least age of its nonce, by every clock that shows it. */
  readonly ageMs: number;
}

/**
 * Returns the record that an administrator's order makes of one that was found like that. `nonce` is for a lease that is, or
 * gets, free.
 */
export function ordered(record: LeaseRecord, found: Finding, order: Order, nonce: string): LeaseRecord {
  return order.kind === "break" ? afterBreak(record, order, nonce) : afterTransfer(record, found, order, nonce);
}

/** Everything that bars is lifted, but for the lease of a holder that may still believe in it. */
function afterBreak(
  { transfer: _, holdMs, reservation: ___, ...record }: LeaseRecord,
  { id, reason, immediate }: Extract<Order, { kind: "break" }>,
  nonce: string,
): LeaseRecord {
  const isHeld = record.termId !== null;
  // The holder of a record that is gone may still believe in its lease, for which the hold stands.
  if (isLost(record) && !immediate) return { ...record, ...(holdMs === undefined ? {} : { holdMs }), broken: { reason, id } };
  return { ...(isHeld && immediate ? vacate(record, nonce) : record), broken: { reason, id } };
}

/** The holder is asked to drain. With nobody left to drain the reservation begins now, which takes a nonce to count from. */
function afterTransfer(
  record: LeaseRecord,
  { snapshot: { state, bar }, ageMs }: Finding,
  { id, candidateId, timeoutMs }: Extract<Order, { kind: "transfer" }>,
  nonce: string,
): LeaseRecord {
  const transfer = { candidateId, timeoutMs, id };
  if (state !== "vacant" && state !== "expired") return { ...record, transfer };
  // What is left of a hold bars the named candidate, too.
  const hold = bar?.kind === "hold" ? { holdMs: Math.ceil(bar.leftMs) } : {};
  // And what is left of a reservation comes after it: what an administrator writes is no sign of life of its group.
  const { broken: _, reservation, ...vacated } = vacate(record, nonce);
  const reservedMs = Math.ceil((reservation?.durationMs ?? 0) - ageMs);
  const left = reservation && reservedMs > 0 ? { reservation: { ...reservation, durationMs: reservedMs } } : {};
  return { ...vacated, ...hold, ...left, transfer };
}
