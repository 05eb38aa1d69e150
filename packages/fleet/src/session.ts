// How a process gets a session: the lease of a numbered slot, by the ordinary elector.

import { Elector, isLeaseholdError, type HeldLeadership, type LeaseSnapshot } from "@leasehold/core";
import type { FleetRecords } from "./fleet-records.ts";
import type { FleetSettings } from "./fleet-options.ts";
import { LINEAGE, MAX_SLOTS } from "./plan.ts";

/** The lineages to choose from. The last one still leaves room for its terms among the safe integers. */
const LINEAGES = 2 ** 31;
/** The first range of free slots from which a process chooses. It doubles after each collision. */
const FIRST_RANGE = 8;

export interface Session {
  readonly slot: number;
  readonly leadership: HeldLeadership;
  /** The elector that holds it. */
  readonly elector: Elector;
}

/** Returns the part of the session's termId that its report and the plan have. */
export function idOf({ termId }: Pick<HeldLeadership, "termId">): string {
  return termId.slice(0, 8);
}

/** Takes free slots. */
export class Slots {
  readonly #settings: FleetSettings;
  readonly #records: FleetRecords;
  #range = FIRST_RANGE;
  /** Slots that this process cannot use: a record that was deleted and made anew, or one that is no lease. */
  readonly #unusable = new Set<number>();

  constructor(settings: FleetSettings, records: FleetRecords) {
    this.#settings = settings;
    this.#records = records;
  }

  /** Makes one attempt at a free slot. Returns `undefined` if another process was faster. */
  async take(): Promise<Session | undefined> {
    const { names, clock } = this.#settings;
    const listed = await this.#records.listMembers();
    const isFree = (slot: number): boolean => !this.#unusable.has(slot) && isOpen(listed.get(slot));
    const free: number[] = [];
    for (let slot = 0; slot < MAX_SLOTS && free.length < this.#range; slot += 1) if (isFree(slot)) free.push(slot);
    const slot = free[Math.floor(clock.random() * free.length)];
    if (slot === undefined) throw new Error(`The fleet '${names.fleet}' has no free slot; it has ${MAX_SLOTS} in all.`);
    try {
      const elector = this.#elector(slot, !listed.has(slot));
      const leadership = await elector.tryCampaign();
      if (leadership) {
        this.#range = FIRST_RANGE;
        return { slot, leadership, elector };
      }
      this.#range = Math.min(2 * this.#range, MAX_SLOTS);
      return undefined;
    } catch (error) {
      if (!isLeaseholdError(error, "TERM_REGRESSED") && !isLeaseholdError(error, "FOREIGN_RECORD")) throw error;
      this.#unusable.add(slot);
      return undefined;
    }
  }

  #elector(slot: number, isNew: boolean): Elector {
    const { store, clock, names, memberId, timing, logger } = this.#settings;
    const { leaseDurationMs, renewIntervalMs, renewDeadlineMs, attemptTimeoutMs, drainTimeoutMs } = timing;
    return new Elector({
      store,
      election: names.member(slot),
      candidateId: memberId,
      leaseDurationMs,
      renewIntervalMs,
      renewDeadlineMs,
      attemptTimeoutMs,
      drainTimeoutMs,
      logger,
      // A record that is made where there is none is of another lineage than any before it.
      ...(isNew ? { minTerm: Math.floor(clock.random() * LINEAGES) * LINEAGE + 1 } : {}),
    });
  }
}

/** Reports whether a process may take this slot. One whose session has expired is the coordinator's to end. */
function isOpen(listed: LeaseSnapshot | undefined): boolean {
  return listed === undefined || (listed.state === "vacant" && listed.bar === undefined);
}
