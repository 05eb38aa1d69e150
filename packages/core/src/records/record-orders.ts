import type { Order } from "../store/administration.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import { barOf, holdFor, withBars } from "./bars.ts";
import { isLost } from "./lost-record.ts";
import type { LeaseRecord } from "./record-store.ts";

/**
 * The record of a term that nobody holds any more. Its bars count from the new nonce: the time of a transfer begins now, once a
 * hold is over. A break stays to be seen, for the administrator who has no reply.
 */
export function vacate({ value: _, ...record }: LeaseRecord, nonce: string, holdMs = 0): LeaseRecord {
  const transfer = barOf(record, "transfer");
  const leaseMs = record.termId === null ? 0 : record.leaseDurationMs;
  const again = transfer && { ...transfer, untilMs: (transfer.untilMs as number) - leaseMs + holdMs };
  const bars = [...holdFor(holdMs), again ?? barOf(record, "reservation"), barOf(record, "pause")];
  return withBars({ ...record, termId: null, nonce }, bars);
}

/**
 * Returns the record that an administrator's order makes of one that was found like that. `nonce` is for a lease that is, or
 * gets, free.
 */
export function ordered(record: LeaseRecord, found: LeaseSnapshot, order: Order, nonce: string): LeaseRecord {
  return order.kind === "break" ? afterBreak(record, order, nonce) : afterTransfer(record, found, order, nonce);
}

/** Every bar is lifted but a pause. What remains of the lease is left to a holder that may still believe in it. */
function afterBreak(
  record: LeaseRecord,
  { id, reason, immediate }: Extract<Order, { kind: "break" }>,
  nonce: string,
): LeaseRecord {
  // The holder of a record that is gone may still believe in its lease, for which the hold stands.
  const hold = isLost(record) && !immediate ? barOf(record, "hold") : undefined;
  const lifted = withBars(record, [hold, barOf(record, "pause")]);
  const isHeld = record.termId !== null;
  return { ...(isHeld && immediate ? vacate(lifted, nonce) : lifted), broken: { reason, id } };
}

/**
 * A transfer takes the place of a reservation: the administrator decides whose turn it is. It asks a holder to drain. Where nobody
 * holds the lease its time begins now, which takes a nonce to count from, or after the rest of a hold.
 */
function afterTransfer(
  record: LeaseRecord,
  { state, bar }: LeaseSnapshot,
  { id, candidateId, timeoutMs }: Extract<Order, { kind: "transfer" }>,
  nonce: string,
): LeaseRecord {
  const transferFor = (untilMs: number) => ({ untilMs, except: { candidateId }, id });
  if (state !== "vacant" && state !== "expired") return withBars(record, [transferFor(record.leaseDurationMs + timeoutMs)]);
  const holdMs = bar?.kind === "hold" ? Math.ceil(bar.leftMs) : 0;
  const { broken: _, ...vacated } = vacate(record, nonce);
  return withBars(vacated, [...holdFor(holdMs), transferFor(holdMs + timeoutMs)]);
}
