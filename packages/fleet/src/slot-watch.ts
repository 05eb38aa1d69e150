// Reads the slots for the coordinator: ends expired sessions, and measures how long a session's record has been gone.

import { isLeaseholdError, type LeaseSnapshot } from "@leasehold/core";
import type { FleetContext } from "./fleet-reporter.ts";
import { inTurns } from "./in-turns.ts";
import { Lasting } from "./lasting.ts";
import { enderName, fateOf, isSession, type Fate, type Plan, type Seen, type SeenSlot } from "./plan.ts";
import { decodeReport } from "./report.ts";

/** A session is late if its last renewal is this many renew intervals ago. */
const LATE = 1.3;

export class SlotWatch {
  readonly #context: FleetContext;
  readonly #lasting: Lasting;
  readonly #inTurn = inTurns();

  constructor(context: FleetContext) {
    this.#context = context;
    this.#lasting = new Lasting(context.clock);
  }

  /**
   * Lists the slots, and ends the expired sessions. The list may lag, so only the write that ends a session proves its end. Also
   * returns the longest lease. `isSuspicious` is true if a renewal is late, because that member may be dead.
   * @param isNew true until this coordinator has watched for a whole lease. Until then the store's clock may also show an expiry.
   */
  async look(isNew: boolean): Promise<{ seen: Seen; isSuspicious: boolean; leaseMs: number }> {
    const { renewIntervalMs, leaseDurationMs } = this.#context.timing;
    const seen = new Map<number, SeenSlot>();
    let isSuspicious = false;
    let leaseMs = 0;
    const listed = await this.#context.records.listMembers();
    for (const [slot, { term, state, bar, value, ageMs, leaseDurationMs: itsLeaseMs = leaseDurationMs }] of listed) {
      // A record with a hold replaces a lost record. The lost record's session may still run until the hold ends.
      seen.set(slot, { term, state: state === "vacant" && bar ? "unknown" : state, report: decodeReport(value) });
      if (state !== "vacant") leaseMs = Math.max(leaseMs, itsLeaseMs);
      const lateMs = (LATE * renewIntervalMs * itsLeaseMs) / leaseDurationMs;
      isSuspicious ||= state === "held" && (ageMs?.[0] ?? 0) > lateMs;
    }
    const expired = [...listed].filter(([, { state }]) => state === "expired");
    await this.#each(expired, async ([slot, session]) => {
      const term = await this.#end(session, isNew);
      if (term !== undefined) seen.set(slot, { term, state: "vacant" });
    });
    return { seen, isSuspicious, leaseMs };
  }

  async #each<T>(all: readonly T[], request: (one: T) => Promise<void>): Promise<void> {
    await Promise.all(all.map((one) => this.#inTurn(() => request(one))));
  }

  /** Ends an expired session: acquires and releases its slot. Its later renewals fail. Returns the term of that acquisition. */
  async #end({ election, holder = "" }: LeaseSnapshot, isNew: boolean): Promise<number | undefined> {
    const { store, timing } = this.#context;
    const { leaseDurationMs, renewIntervalMs, attemptTimeoutMs: timeoutMs } = timing;
    const expiry = isNew && store.capabilities.storeClock !== undefined ? ({ expiry: "store-clock" } as const) : {};
    const request = { election, candidateId: enderName(holder), leaseDurationMs, renewIntervalMs, timeoutMs, ...expiry };
    // If the request fails, the next list shows whether the store has carried it out.
    const outcome = await store.acquire(request).catch(() => undefined);
    if (!outcome?.acquired) return undefined;
    // If the release fails, the slot is free one lease later.
    await store.release(outcome.lease, { timeoutMs }).catch(() => undefined);
    return outcome.lease.term;
  }

  /** Returns the slots whose sessions are over: the record proves it, or no consistent read in a whole lease shows the session. */
  async over(plan: Plan, seen: Seen): Promise<Set<number>> {
    const over = new Set<number>();
    const gone = new Map<string, number>();
    const unseen = [...plan.members].filter(([slot, member]) => !isSession(member, seen.get(slot)));
    await this.#each(unseen, async ([slot, { id }]) => {
      const fate = await this.#fateOf(slot, id);
      if (fate === "over") over.add(slot);
      if (fate === "gone") gone.set(id, slot);
    });
    for (const [slot, goneMs] of this.#lasting.all("gone", gone)) if (goneMs >= plan.leaseMs) over.add(slot);
    return over;
  }

  async #fateOf(slot: number, id: string): Promise<Fate | undefined> {
    const { records, names } = this.#context;
    if (records.hasGivenUp(id)) return "over";
    try {
      return fateOf(id, (await records.read(names.member(slot), true))?.record);
    } catch (error) {
      // A holder cannot renew a record that is not a lease. Any other failure restarts the measured time.
      return isLeaseholdError(error, "FOREIGN_RECORD") ? "gone" : undefined;
    }
  }

  /**
   * Ends the sessions of members that have not carried out the plan for two leases. Such a member cannot read the plan, so it
   * would never start its shards. No session ends if this process cannot read the plan either.
   */
  async endDeaf(plan: Plan, seen: Seen): Promise<void> {
    const { store, names, timing, records } = this.#context;
    const asked = new Map(Array.from(plan.members, ([slot, member]) => [slot, member.asked]));
    for (const { slot = -1, since } of plan.shards.values()) asked.set(slot, Math.max(asked.get(slot) ?? 0, since));
    const deaf = [...plan.members].filter(([slot, member]) => {
      const one = seen.get(slot);
      return isSession(member, one) && (one?.report?.applied ?? 0) < (asked.get(slot) ?? 0);
    });
    const named = new Map(deaf.map(([slot, { id, term }]) => [id, { election: names.member(slot), ifTerm: term }]));
    for (const [{ election, ifTerm }, deafMs] of this.#lasting.all("deaf", named)) {
      if (deafMs < 2 * plan.leaseMs) continue;
      await records.readPlan(true);
      const reason = `it has not carried out the plan of '${names.fleet}' for two leases`;
      await store.break(election, { reason, ifTerm, timeoutMs: timing.attemptTimeoutMs });
    }
  }
}
