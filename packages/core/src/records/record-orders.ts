import type { Order } from "../store/administration.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import { barOf, holdFor, withBars } from "./bars.ts";
import { isLost } from "./lost-record.ts";
import type { LeaseRecord } from "./record-store.ts";
import { closeExpired } from "./term-history.ts";

/** Returns the record of a term that nobody holds any more. A break stays in it, in case the administrator's reply was lost. */
export function vacate({ value: _, ...record }: LeaseRecord, nonce: string, holdMs = 0): LeaseRecord {
  const transfer = barOf(record, "transfer");
  const leaseMs = record.termId === null ? 0 : record.leaseDurationMs;
  const again = transfer && { ...transfer, untilMs: (transfer.untilMs as number) - leaseMs + holdMs };
  const bars = [...holdFor(holdMs), again ?? barOf(record, "reservation"), barOf(record, "pause")];
  return withBars({ ...record, termId: null, nonce }, bars);
}

/** Returns the record that an order makes of a found one. `nonce` is used if the lease is free, or becomes free. */
export function ordered(record: LeaseRecord, found: LeaseSnapshot, order: Order, nonce: string): LeaseRecord {
  return order.kind === "break" ? afterBreak(record, order, nonce) : afterTransfer(record, found, order, nonce);
}

/** Removes every block but a pause. The rest of the lease stays, unless the break is immediate. */
function afterBreak(
  record: LeaseRecord,
  { id, reason, immediate }: Extract<Order, { kind: "break" }>,
  nonce: string,
): LeaseRecord {
  // The holder of a record that is gone may still believe that it leads. The hold covers that time.
  const hold = isLost(record) && !immediate ? barOf(record, "hold") : undefined;
  const lifted = withBars(record, [hold, barOf(record, "pause")]);
  const isHeld = record.termId !== null;
  return { ...(isHeld && immediate ? vacate(lifted, nonce) : lifted), broken: { reason, id } };
}

/** Replaces a reservation. If nobody holds the lease, the transfer's time begins now or after a hold, with a new nonce. */
function afterTransfer(
  record: LeaseRecord,
  { state, bar }: LeaseSnapshot,
  { id, candidateId, timeoutMs }: Extract<Order, { kind: "transfer" }>,
  nonce: string,
): LeaseRecord {
  const transferFor = (untilMs: number) => ({ untilMs, except: { candidateId }, id });
  if (state !== "vacant" && state !== "expired") return withBars(record, [transferFor(record.leaseDurationMs + timeoutMs)]);
  const holdMs = bar?.kind === "hold" ? Math.ceil(bar.leftMs) : 0;
  const { broken: _, ...vacated } = vacate(state === "expired" ? closeExpired(record) : record, nonce);
  return withBars(vacated, [...holdFor(holdMs), transferFor(holdMs + timeoutMs)]);
}
