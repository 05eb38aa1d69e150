import { type Clock, blockerOf } from "@leasehold/core/provider";
import type { LeaseSnapshot } from "@leasehold/core";
import type { Broken, LeaderStatus, TransferLeft } from "./messages.ts";

/** With more elections than this, the election with the oldest news is dropped. */
const MOST_ELECTIONS = 10_000;

/**
 * The last leader of an election. The transfer order may come from another server than the latest LEAD. `isAfter` means that it
 * was given after a break of the term.
 */
interface TermStatus {
  readonly sign: LeaderStatus;
  /** A time of the monotonic clock after the status was received. */
  readonly atMs: number;
  /** The id of the last break that any server has reported, also one that has not heard the latest LEAD. */
  readonly brokenBy: string | undefined;
  readonly transfer: (TransferLeft & { readonly isAfter: boolean; readonly atMs: number }) | undefined;
}

/** The latest leader of each election that this process knows of, from its own server or from others. */
export class LeaderStatuses {
  readonly #clock: Clock;
  readonly #sightings = new Map<string, TermStatus>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  see(election: string, sign: LeaderStatus | undefined): void {
    if (!sign) return;
    const known = this.#sightings.get(election);
    if (known && sign.term < known.sign.term) return;
    const atMs = this.#clock.monotonicMs();
    const before = known?.sign.term === sign.term ? known : undefined;
    const latest = before && !isLater(sign, before.sign) ? before : { sign, atMs };
    const brokenBy = sign.broken?.id ?? before?.brokenBy;
    const isSameBreak = brokenBy === before?.brokenBy;
    const isAfter = sign.broken !== undefined;
    const transfer = sign.transfer ? { ...sign.transfer, isAfter, atMs } : isSameBreak ? before?.transfer : undefined;
    // A break lifts the transfers that came before it. Another server may not have the break yet.
    const isLifted = brokenBy !== undefined && transfer?.isAfter !== true;
    this.#sightings.delete(election);
    this.#sightings.set(election, { sign: latest.sign, atMs: latest.atMs, brokenBy, transfer: isLifted ? undefined : transfer });
    if (this.#sightings.size > MOST_ELECTIONS) this.#sightings.delete(this.#sightings.keys().next().value ?? "");
  }

  /** Returns undefined if no leader was ever heard of. */
  snapshot(election: string): LeaseSnapshot | undefined {
    const observed = this.#sightings.get(election);
    if (!observed) return undefined;
    const { sign, atMs, transfer } = observed;
    const { term, candidateId, value, leaseDurationMs, released, ageMs, holdMs, broken } = sign;
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = nowMs - atMs;
    const isOver = ageMs + sinceMs >= leaseDurationMs || broken?.immediate === true;
    const state = released ? "vacant" : isOver ? "expired" : broken || transfer ? "ending" : "held";
    const transferTo = transfer && transfer.leftMs > nowMs - transfer.atMs ? transfer.candidateId : undefined;
    const bar = blockerOf({ state, holdMs: Math.max(holdMs - sinceMs, 0), transferTo });
    const isNobodys = released || candidateId === "";
    return {
      election,
      state,
      term,
      ...(isNobodys ? {} : { holder: candidateId, ageMs: [ageMs + sinceMs, Infinity] as const, leaseDurationMs }),
      ...(value === undefined || isNobodys ? {} : { value }),
      ...(bar === undefined ? {} : { bar }),
      // If a transfer came after the break, no reason is given: the term ends for the transfer.
      ...(broken && !transfer && !released ? { endingReason: broken.reason } : {}),
    };
  }
}

function isLater(one: LeaderStatus, other: LeaderStatus): boolean {
  if (one.released !== other.released) return one.released;
  if (one.number !== other.number) return one.number > other.number;
  return rankOf(one.broken) > rankOf(other.broken);
}

function rankOf(broken: Broken | undefined): number {
  return broken ? (broken.immediate ? 2 : 1) : 0;
}
