// Acquires a session for this process. A session is the lease of a numbered slot, and an ordinary elector holds it.

import { Elector, isLeaseholdError, type HeldLeadership } from "@leasehold/core";
import type { FleetContext } from "./fleet-reporter.ts";
import { ID_LENGTH, MAX_SLOTS, sessionName } from "./plan.ts";

/** A process first chooses from this many free slots. The number doubles after each collision. */
const FIRST_RANGE = 8;

export interface Session {
  readonly slot: number;
  readonly leadership: HeldLeadership;
  readonly elector: Elector;
}

/** Returns a function that makes one attempt to acquire a free slot. It returns `undefined` if another process was faster. */
export function takingSlots(context: FleetContext) {
  const { names, clock, records, store, memberId, timing, logger } = context;
  const { leaseDurationMs, renewIntervalMs, renewDeadlineMs, attemptTimeoutMs, drainTimeoutMs } = timing;
  const times = { leaseDurationMs, renewIntervalMs, renewDeadlineMs, attemptTimeoutMs, drainTimeoutMs };
  /** Slots that this process cannot use. Their records were deleted and created again, or are no leases. */
  const unusable = new Set<number>();
  let range = FIRST_RANGE;
  return async (named: ReadonlyMap<number, unknown> | undefined): Promise<Session | undefined> => {
    const listed = await records.listMembers();
    const free: number[] = [];
    for (let slot = 0; slot < MAX_SLOTS && free.length < range; slot += 1) {
      const { state, bar } = listed.get(slot) ?? { state: "vacant" };
      // The coordinator must end an expired session first. The record of a slot in the plan has to show how its session ended.
      if (state === "vacant" && !bar && !unusable.has(slot) && !named?.has(slot)) free.push(slot);
    }
    const slot = free[Math.floor(clock.random() * free.length)];
    if (slot === undefined) throw new Error(`The fleet '${names.fleet}' has no free slot; it has ${MAX_SLOTS} in all.`);
    const candidateId = sessionName(memberId, clock.randomUuid().slice(0, ID_LENGTH));
    const elector = new Elector({ store, election: names.member(slot), candidateId, ...times, logger });
    try {
      const leadership = await elector.tryCampaign();
      range = leadership ? FIRST_RANGE : Math.min(2 * range, MAX_SLOTS);
      return leadership && { slot, leadership, elector };
    } catch (error) {
      if (!isLeaseholdError(error, "TERM_REGRESSED") && !isLeaseholdError(error, "FOREIGN_RECORD")) throw error;
      unusable.add(slot);
      return undefined;
    }
  };
}
