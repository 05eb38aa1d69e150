// Acquires a session for this process. A session is the lease of a numbered slot, and an ordinary elector holds it.

import { Elector, isLeaseholdError, type HeldLeadership, type LeaseSnapshot } from "@leasehold/core";
import type { FleetContext } from "./fleet-reporter.ts";
import { MAX_SLOTS, sessionName } from "./plan.ts";

/** A process first chooses from this many free slots. The number doubles after each collision. */
const FIRST_RANGE = 8;

const ID_LENGTH = 8;

export interface Session {
  readonly slot: number;
  readonly leadership: HeldLeadership;
  readonly elector: Elector;
}

/** Returns the id of a session. The session's report, the plan and the slot's record contain this id. */
export function idOf({ candidateId }: Pick<HeldLeadership, "candidateId">): string {
  return candidateId.slice(-ID_LENGTH);
}

export class Slots {
  readonly #context: FleetContext;
  #range = FIRST_RANGE;
  /** Slots that this process cannot use. Their records were deleted and created again, or are no leases. */
  readonly #unusable = new Set<number>();

  constructor(context: FleetContext) {
    this.#context = context;
  }

  /**
   * Makes one attempt to acquire a free slot. Returns `undefined` if another process was faster.
   * @param named the slots in the plan. They are not free, because their records have to show how the former sessions ended.
   */
  async take(named: ReadonlyMap<number, unknown>): Promise<Session | undefined> {
    const { names, clock, records } = this.#context;
    const listed = await records.listMembers();
    const isFree = (slot: number): boolean => !this.#unusable.has(slot) && !named.has(slot) && isOpen(listed.get(slot));
    const free: number[] = [];
    for (let slot = 0; slot < MAX_SLOTS && free.length < this.#range; slot += 1) if (isFree(slot)) free.push(slot);
    const slot = free[Math.floor(clock.random() * free.length)];
    if (slot === undefined) throw new Error(`The fleet '${names.fleet}' has no free slot; it has ${MAX_SLOTS} in all.`);
    try {
      const elector = this.#elector(slot);
      const leadership = await elector.tryCampaign();
      this.#range = leadership ? FIRST_RANGE : Math.min(2 * this.#range, MAX_SLOTS);
      return leadership && { slot, leadership, elector };
    } catch (error) {
      if (!isLeaseholdError(error, "TERM_REGRESSED") && !isLeaseholdError(error, "FOREIGN_RECORD")) throw error;
      this.#unusable.add(slot);
      return undefined;
    }
  }

  #elector(slot: number): Elector {
    const { store, clock, names, memberId, timing, logger } = this.#context;
    const { leaseDurationMs, renewIntervalMs, renewDeadlineMs, attemptTimeoutMs, drainTimeoutMs } = timing;
    const times = { leaseDurationMs, renewIntervalMs, renewDeadlineMs, attemptTimeoutMs, drainTimeoutMs };
    const candidateId = sessionName(memberId, clock.randomUuid().slice(0, ID_LENGTH));
    return new Elector({ store, election: names.member(slot), candidateId, ...times, logger });
  }
}

/** Reports whether a process may take this slot. If the slot's session has expired, the coordinator must end it first. */
function isOpen(listed: LeaseSnapshot | undefined): boolean {
  return listed === undefined || (listed.state === "vacant" && listed.bar === undefined);
}
