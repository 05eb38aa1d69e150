import type { Broken, Handover } from "./messages.ts";

/** What administrators have ordered of one term. */
export interface Ordered {
  /** It is ended. */
  readonly broken?: Broken | undefined;
  /** Another leader is asked for after it; a break since then has lifted that. */
  readonly handover?: Handover | undefined;
}

/**
 * The last break of a term and the last hand-over since that any of several servers keeps. What a majority keeps is in it; a break
 * that a majority has refused may be as well, where one of the others has taken it.
 */
export function togetherOf(all: readonly Ordered[]): Ordered {
  let together: Ordered = {};
  for (const { broken, handover } of all) {
    if (handover && isLater(handover, together.handover)) together = { ...together, handover };
    if (broken && isLater(broken, together.broken)) together = { ...together, broken };
  }
  const { broken, handover } = together;
  return broken && handover && isLater(broken, handover) ? { broken } : together;
}

/** The number of the last order to a term; 0 where there was none. */
export function lastOrderOf(ordered: Ordered): number {
  return lastOf(ordered)?.number ?? 0;
}

/** Reports whether the last order of one is later than that of the other. */
export function isOrderedLater(one: Ordered, other: Ordered): boolean {
  const order = lastOf(one);
  return order !== undefined && isLater(order, lastOf(other));
}

/**
 * What becomes of an order, by those to its term that have come before: one that was overtaken by a later one is refused, and one
 * that comes again changes nothing, unless it was overtaken and is given anew.
 */
export function verdictOn(order: Broken | Handover, before: Ordered): "new" | "known" | "refused" {
  const last = lastOf(before);
  if (last?.id !== order.id && isLater(order, last)) return "new";
  return before.broken?.id === order.id || before.handover?.id === order.id ? "known" : "refused";
}

/** A break lifts a hand-over: where there are both, that came later. */
function lastOf({ broken, handover }: Ordered): Broken | Handover | undefined {
  return handover ?? broken;
}

/** Two that have the same number were given without knowing of each other: voters hear them in any order, and must end up alike. */
function isLater(one: Broken | Handover, other: Broken | Handover | undefined): boolean {
  const number = other?.number ?? 0;
  return one.number === number ? rankOf(one) > rankOf(other) : one.number > number;
}

/** The fewer an order keeps out, the higher. Of two hand-overs the one that has come first counts, or no majority could rely on it. */
function rankOf(order: Broken | Handover | undefined): number {
  if (!order || !("immediate" in order)) return 0;
  return order.immediate ? 2 : 1;
}
