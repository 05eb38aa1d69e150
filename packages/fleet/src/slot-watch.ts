// The slots as a coordinator sees them: it ends sessions that have expired, and counts how long a record is gone.

import { isLeaseholdError, type LeaseSnapshot } from "@leasehold/core";
import type { FleetRecords } from "./fleet-records.ts";
import type { FleetSettings } from "./fleet-options.ts";
import { enderName, fateOf, isSession, type Plan, type Seen, type SeenSlot } from "./plan.ts";
import { decodeReport } from "./report.ts";

/** The requests that are under way at once when many sessions have ended. */
const AT_ONCE = 16;
/** A heartbeat that is so many intervals old is late. */
const LATE = 1.3;

export interface Look {
  readonly seen: Seen;
  /** A heartbeat is late, so that a member may be dead. */
  readonly isSuspicious: boolean;
  /** The longest lease that was seen, in milliseconds. */
  readonly leaseMs: number;
}

export class SlotWatch {
  readonly #settings: FleetSettings;
  readonly #records: FleetRecords;
  /** Since when the record of a session has been gone, by the monotonic clock and the session's id. */
  readonly #goneMs = new Map<string, number>();
  /** Since when a session has not carried out what the plan asks of it. */
  readonly #deafMs = new Map<string, number>();

  constructor(settings: FleetSettings, records: FleetRecords) {
    this.#settings = settings;
    this.#records = records;
  }

  /**
   * Lists the slots, and ends the sessions that have expired. Expired is not over: the list may lag. Only the write that ends
   * the session proves it.
   * @param isNew true while this coordinator has not watched for a whole lease. The store's clock then helps it.
   */
  async look(isNew: boolean): Promise<Look> {
    const { renewIntervalMs, leaseDurationMs } = this.#settings.timing;
    const listed = await this.#records.listMembers();
    const seen = new Map<number, SeenSlot>();
    let isSuspicious = false;
    let leaseMs = 0;
    const expired: LeaseSnapshot[] = [];
    for (const [slot, one] of listed) {
      const { term, state, ageMs, leaseDurationMs: itsLeaseMs = leaseDurationMs } = one;
      const report = decodeReport(one.value);
      // A record with a hold stands for one that was lost: its session may go on until the hold is over.
      seen.set(slot, { term, state: state === "vacant" && one.bar ? "unknown" : state, report });
      if (state !== "vacant") leaseMs = Math.max(leaseMs, itsLeaseMs);
      const lateMs = (LATE * renewIntervalMs * itsLeaseMs) / leaseDurationMs;
      if (state === "held" && (ageMs?.[0] ?? 0) > lateMs) isSuspicious = true;
      if (state === "expired") expired.push(one);
    }
    const ended = await someAtOnce(expired, (one) => this.#end(one, isNew));
    for (const [slot, one] of ended.flatMap((end) => (end ? [end] : []))) seen.set(slot, one);
    return { seen, isSuspicious, leaseMs };
  }

  /** Ends an expired session by the ordinary engine: its renewals fail from then on. The record says which one it was. */
  async #end({ election, holder = "" }: LeaseSnapshot, isNew: boolean): Promise<[number, SeenSlot] | undefined> {
    const { store, names, timing } = this.#settings;
    const { leaseDurationMs, renewIntervalMs, attemptTimeoutMs: timeoutMs } = timing;
    const usesStoreClock = isNew && store.capabilities.storeClock !== undefined;
    const request = { election, candidateId: enderName(holder), leaseDurationMs, renewIntervalMs, timeoutMs };
    try {
      const outcome = await store.acquire({ ...request, ...(usesStoreClock ? { expiry: "store-clock" as const } : {}) });
      const slot = names.slotOf(election);
      if (!outcome.acquired || slot === undefined) return undefined;
      // If the release fails, the slot is free one lease later.
      await store.release(outcome.lease, { timeoutMs }).catch(() => undefined);
      return [slot, { term: outcome.lease.term, state: "vacant" }];
    } catch {
      // The next list shows whether it was done.
      return undefined;
    }
  }

  /**
   * Returns the slots whose sessions are over. The record says so, or it does not show the session in each consistent reading for a
   * whole lease.
   */
  async over(plan: Plan, seen: Seen): Promise<Set<number>> {
    const { clock } = this.#settings;
    const over = new Set<number>();
    const gone = new Set<string>();
    const unseen = [...plan.members].filter(([slot, member]) => !isSession(member, seen.get(slot)));
    await someAtOnce(unseen, async ([slot, { id }]) => {
      const fate = await this.#fateOf(slot, id);
      if (fate === "over") over.add(slot);
      if (fate !== "gone") return;
      gone.add(id);
      const sinceMs = this.#goneMs.get(id) ?? clock.monotonicMs();
      this.#goneMs.set(id, sinceMs);
      if (clock.monotonicMs() - sinceMs >= plan.leaseMs) over.add(slot);
    });
    for (const id of this.#goneMs.keys()) if (!gone.has(id)) this.#goneMs.delete(id);
    return over;
  }

  async #fateOf(slot: number, id: string): Promise<ReturnType<typeof fateOf> | undefined> {
    if (this.#records.hasGivenUp(slot, id)) return "over";
    try {
      return fateOf(id, await this.#records.readMember(slot));
    } catch (error) {
      // A holder cannot renew a record that is no lease. Any other failure tells nothing: the count begins anew.
      return isLeaseholdError(error, "FOREIGN_RECORD") ? "gone" : undefined;
    }
  }

  /**
   * Ends the sessions of members that have not carried out for two leases what the plan asks of them. They cannot read it, so the
   * shards that they were granted would wait for ever. If this process cannot read it either, no session ends.
   */
  async endDeaf(plan: Plan, seen: Seen): Promise<void> {
    const { clock, store, names, timing } = this.#settings;
    const asked = new Map([...plan.members].map(([slot, member]) => [slot, member.asked]));
    for (const { slot, since } of plan.shards.values()) {
      if (slot !== undefined) asked.set(slot, Math.max(asked.get(slot) ?? 0, since));
    }
    const deaf = new Set<string>();
    for (const [slot, member] of plan.members) {
      const one = seen.get(slot);
      if (!isSession(member, one) || (one?.report?.applied ?? 0) >= (asked.get(slot) ?? 0)) continue;
      deaf.add(member.id);
      const sinceMs = this.#deafMs.get(member.id) ?? clock.monotonicMs();
      this.#deafMs.set(member.id, sinceMs);
      if (clock.monotonicMs() - sinceMs < 2 * plan.leaseMs) continue;
      await this.#records.readPlan(true);
      const reason = `it has not carried out the plan of '${names.fleet}' for two leases`;
      await store.break(names.member(slot), { reason, ifTerm: member.term, timeoutMs: timing.attemptTimeoutMs });
    }
    for (const id of this.#deafMs.keys()) if (!deaf.has(id)) this.#deafMs.delete(id);
  }
}

async function someAtOnce<T, R>(all: readonly T[], request: (one: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let first = 0; first < all.length; first += AT_ONCE) {
    done.push(...(await Promise.all(all.slice(first, first + AT_ONCE).map(request))));
  }
  return done;
}
