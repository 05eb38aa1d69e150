import type { Broken, Handover, OrderNumber } from "./messages.ts";

/** What administrators have ordered of one term. */
export interface Ordered {
  /** It is ended. */
  readonly broken?: Broken | undefined;
  /** Another leader is asked for after it; a break since then has lifted that. */
  readonly handover?: Handover | undefined;
}

/** The number of the last order to a term; 0 where there was none. */
export function lastOrderOf({ broken, handover }: Ordered): number {
  return Math.max(broken?.number ?? 0, handover?.number ?? 0);
}

/**
 * What becomes of an order, by those to its term that have come before: one that was overtaken by a later one is refused, and one
 * that comes again changes nothing.
 */
export function verdictOn({ id, number }: OrderNumber, before: Ordered): "new" | "known" | "refused" {
  if (before.broken?.id === id || before.handover?.id === id) return "known";
  return number > lastOrderOf(before) ? "new" : "refused";
}
