import type { ElectorState } from "../reporting/diagnostics.ts";
import type { StoreMember } from "../store/store-members.ts";
import type { ContactHealth } from "./store-contact.ts";

/** What a health check asks of an elector: computed from the clocks when it is asked, so that it is true after a freeze. */
export interface ElectorHealth extends ContactHealth {
  readonly state: ElectorState;
  /** The same as `isLeader`. */
  readonly leading: boolean;
  /** The term that is led, or is ending. */
  readonly term?: number | undefined;
  /** For how many milliseconds more the leadership is valid without another renewal; 0 for a standby. */
  readonly validForMs: number;
  /** The servers or stores that the store is made of, where there are several. */
  readonly members?: readonly StoreMember[] | undefined;
}
