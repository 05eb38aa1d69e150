import type { ElectorState } from "../reporting/diagnostics.ts";
import type { StoreMember } from "../store/store-members.ts";
import type { ContactHealth } from "./store-health.ts";

/** The health of an elector. It is computed from the clocks at each call, and so is correct after a freeze. */
export interface ElectorHealth extends ContactHealth {
  readonly state: ElectorState;
  /** The same as `isLeader`. */
  readonly leading: boolean;
  /** The term that this elector leads, or that is ending. */
  readonly term?: number | undefined;
  /** The milliseconds for which the leadership stays valid without another renewal; 0 for a standby. */
  readonly validForMs: number;
  /** The servers or stores that the store is made of, if there are several. */
  readonly members?: readonly StoreMember[] | undefined;
}
