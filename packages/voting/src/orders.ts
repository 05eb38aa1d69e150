import type { Broken, Handover } from "./messages.ts";

/** The orders of administrators to one term. */
export interface Ordered {
  /** The break that has ended the term. */
  readonly broken?: Broken | undefined;
  /** The transfer of the term. A later break lifts it. */
  readonly handover?: Handover | undefined;
}

/**
 * Merges the orders to one term that several servers have: the last break, and the last transfer after it. An order that a
 * majority has accepted is in the result. A break that a majority has refused may be in it as well, if one server has accepted
 * it.
 */
export function mergeOrders(all: readonly Ordered[]): Ordered {
  let together: Ordered = {};
  for (const { broken, handover } of all) {
    if (handover && isLater(handover, together.handover)) together = { ...together, handover };
    if (broken && isLater(broken, together.broken)) together = { ...together, broken };
  }
  const { broken, handover } = together;
  return broken && handover && isLater(broken, handover) ? { broken } : together;
}

/** The number of the last order to a term; 0 if there was none. */
export function lastOrderOf(ordered: Ordered): number {
  return lastOf(ordered)?.number ?? 0;
}

/** Reports whether the last order of `one` is later than the last order of `other`. */
export function isOrderedLater(one: Ordered, other: Ordered): boolean {
  const order = lastOf(one);
  return order !== undefined && isLater(order, lastOf(other));
}

/**
 * Decides about an order by the orders to its term that the voter has.
 * - `new`: it is later than the last one. An order that was overtaken and is given again with a higher number is new as well.
 * - `known`: the voter has it already, so it changes nothing.
 * - `refused`: a later order has overtaken it.
 */
export function verdictOn(order: Broken | Handover, before: Ordered): "new" | "known" | "refused" {
  const last = lastOf(before);
  if (last?.id !== order.id && isLater(order, last)) return "new";
  return before.broken?.id === order.id || before.handover?.id === order.id ? "known" : "refused";
}

/** A break lifts an earlier transfer. If a term has both, the transfer came later. */
function lastOf({ broken, handover }: Ordered): Broken | Handover | undefined {
  return handover ?? broken;
}

/**
 * Orders with the same number were given without knowledge of each other. Voters receive them in any order and must end up alike,
 * so the rank decides.
 */
function isLater(one: Broken | Handover, other: Broken | Handover | undefined): boolean {
  const number = other?.number ?? 0;
  return one.number === number ? rankOf(one) > rankOf(other) : one.number > number;
}

/**
 * An order ranks higher if it blocks fewer candidates. Two transfers rank alike, so the first one counts; otherwise no majority
 * could rely on it.
 */
function rankOf(order: Broken | Handover | undefined): number {
  if (!order || !("immediate" in order)) return 0;
  return order.immediate ? 2 : 1;
}
