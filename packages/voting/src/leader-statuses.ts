import { type Clock, blockerOf } from "@leasehold/core/provider";
import type { LeaseSnapshot } from "@leasehold/core";
import type { LeaderStatus } from "./messages.ts";
import { isOrderedLater } from "./orders.ts";

/** With more elections than this, the one that was heard of longest ago is dropped. */
const MOST_ELECTIONS = 10_000;

interface LastStatus {
  readonly sign: LeaderStatus;
  /** A time of the monotonic clock after the status was received. */
  readonly atMs: number;
}

/** Of one term, the status with the latest LEAD and the status with the latest order. They may come from different servers. */
interface TermStatus {
  readonly latest: LastStatus;
  readonly ordered: LastStatus;
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
    const { latest, ordered } = known ?? {};
    const heard = { sign, atMs: this.#clock.monotonicMs() };
    const isLatest = !latest || isLater(sign, latest.sign);
    const isOrdered = !ordered || isOrderHeard(sign, ordered.sign, isLatest);
    if (!isLatest && !isOrdered) return;
    this.#sightings.delete(election);
    this.#sightings.set(election, { latest: isLatest ? heard : latest, ordered: isOrdered ? heard : ordered });
    if (this.#sightings.size > MOST_ELECTIONS) this.#sightings.delete(this.#sightings.keys().next().value ?? "");
  }

  /** Returns undefined if no leader was ever heard of. */
  snapshot(election: string): LeaseSnapshot | undefined {
    const observed = this.#sightings.get(election);
    if (!observed) return undefined;
    const { latest, ordered } = observed;
    const { term, candidateId, value, leaseDurationMs, released, ageMs, holdMs, broken } = latest.sign;
    const { handover } = ordered.sign;
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = nowMs - latest.atMs;
    const isOver = ageMs + sinceMs >= leaseDurationMs || broken?.immediate === true;
    const state = released ? "vacant" : isOver ? "expired" : broken || handover ? "ending" : "held";
    const transferTo = handover && handover.leftMs > nowMs - ordered.atMs ? handover.candidateId : undefined;
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
      ...(broken && !handover && !released ? { endingReason: broken.reason } : {}),
    };
  }
}

function isLater(one: LeaderStatus, other: LeaderStatus): boolean {
  if (one.term !== other.term) return one.term > other.term;
  if (one.released !== other.released) return one.released;
  if (one.number !== other.number) return one.number > other.number;
  return isOrderedLater(one, other);
}

/**
 * Reports whether a status has a later order. If the order is the same, the latest LEAD decides, because it tells best how long
 * the order lasts.
 */
function isOrderHeard(sign: LeaderStatus, ordered: LeaderStatus, isLatest: boolean): boolean {
  if (sign.term !== ordered.term) return sign.term > ordered.term;
  return isOrderedLater(sign, ordered) || (isLatest && !isOrderedLater(ordered, sign));
}
