import { earlier, type MachineInstant } from "./machine-clock.ts";
import type { GroupLeader } from "./process-table.ts";

/** What the guard is told, whole each time, as one line of JSON. It answers each with its `seq` on a line, and says when it asks. */
export interface GuardOrder {
  /** Rises with each. */
  readonly seq: number;
  readonly termId: string;
  /** Absent until CMD has been started. */
  readonly leader?: GroupLeader | undefined;
  /** The signal that asks CMD to end. */
  readonly signal: NodeJS.Signals;
  /** The longest that CMD may take then. */
  readonly graceMs: number;
  /** When CMD is asked to end, unless a later order comes before; null once it has been. */
  readonly termAt: MachineInstant | null;
  /** When CMD is killed, unless a later order comes before. */
  readonly killAt: MachineInstant;
}

/** The guard's line when it is about to ask CMD to end: CMD is to hear it once. */
export const ASKED = "asked";

/** Every process of the term is gone: nothing more is to be done. */
export const DONE = "done";

/** What a drain may last: until CMD has had its time, or the lease covers it no more. */
export function killInstant(order: Pick<GuardOrder, "killAt">, graceEnd: MachineInstant | undefined): MachineInstant {
  return graceEnd ? earlier(order.killAt, graceEnd) : order.killAt;
}
