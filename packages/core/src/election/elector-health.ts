import type { ElectorState } from "../reporting/diagnostics.ts";
import type { StoreMember } from "../store/store-members.ts";
import type { Leadership } from "./leadership.ts";
import type { LeaderTerm, LeaderTermOptions } from "./leader-term.ts";
import type { ContactHealth } from "./store-health.ts";

export interface ElectorHealth extends ContactHealth {
  readonly state: ElectorState;
  readonly leading: boolean;
  readonly term?: number | undefined;
  /** The milliseconds for which the leadership stays valid without another renewal; 0 for a standby. */
  readonly validForMs: number;
  /** The servers or stores that the store is made of, if there are several. */
  readonly members?: readonly StoreMember[] | undefined;
}

export function healthOf({ reporter, contact, store }: LeaderTermOptions, term?: LeaderTerm<Leadership>): ElectorHealth {
  // Read before `state`, because this call may change the state: right after a freeze, no timer has run yet.
  const validForMs = term?.leadership.remainingMs() ?? 0;
  const { state } = reporter;
  return {
    state: state === "leading" && validForMs === 0 ? "ending" : state,
    leading: validForMs > 0,
    ...(term ? { term: term.term } : {}),
    validForMs,
    ...contact.health,
    ...(store.members ? { members: store.members() } : {}),
  };
}
