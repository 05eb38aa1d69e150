import { earlier, type MachineInstant } from "./machine-clock.ts";
import type { GroupLeader } from "./process-table.ts";

/**
 * The number of checks in a row, `POLL_MS` apart, that must find CMD gone. One check may miss a process, because Linux shows no
 * environment while a process executes another program.
 */
export const GONE_CHECKS = 2;

/**
 * An order to the guard, as one line of JSON. Each order replaces the one before as a whole. The guard answers each order with a
 * line that has its `seq`.
 */
export interface GuardOrder {
  /** Rises with each order. */
  readonly seq: number;
  readonly termId: string;
  /** Absent until CMD has been started. */
  readonly leader?: GroupLeader | undefined;
  /** The signal that asks CMD to end. */
  readonly signal: NodeJS.Signals;
  /** The longest time that CMD may take to end after this signal. */
  readonly graceMs: number;
  /**
   * The instant at which the guard asks CMD to end, unless a newer order comes before. To end CMD, the wrapper sends the
   * present instant.
   */
  readonly termAt: MachineInstant;
  /** The instant at which the guard kills CMD, unless a newer order comes before. */
  readonly killAt: MachineInstant;
}

/** The line that ends the guard or the backup guard: every process of the term is gone. */
export const DONE = "done";

/** Returns when CMD is killed: at the end of its grace or at `killAt`, whichever comes first. */
export function killInstant(order: Pick<GuardOrder, "killAt">, graceEnd: MachineInstant | undefined): MachineInstant {
  return graceEnd ? earlier(order.killAt, graceEnd) : order.killAt;
}
