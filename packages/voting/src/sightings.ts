import type { Clock, LeaseSnapshot } from "@leasehold/core";
import { barOf } from "@leasehold/core/provider";
import type { Sign } from "./messages.ts";
import { lastOrderOf } from "./orders.ts";

/** More elections than these are let go, the ones longest unheard of first. */
const MOST_ELECTIONS = 10_000;

interface Sighting {
  readonly sign: Sign;
  /** By the monotonic clock; the sign was heard before. */
  readonly atMs: number;
}

/** What this process has heard of leaders, whoever told it: the latest of each election. */
export class Sightings {
  readonly #clock: Clock;
  readonly #latest = new Map<string, Sighting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  see(election: string, sign: Sign | undefined): void {
    if (!sign) return;
    const known = this.#latest.get(election)?.sign;
    if (known && !isLater(sign, known)) return;
    this.#latest.delete(election);
    this.#latest.set(election, { sign, atMs: this.#clock.monotonicMs() });
    if (this.#latest.size > MOST_ELECTIONS) this.#latest.delete(this.#latest.keys().next().value ?? "");
  }

  /** `undefined` where no leader was ever heard. */
  snapshot(election: string): LeaseSnapshot | undefined {
    const sighting = this.#latest.get(election);
    if (!sighting) return undefined;
    const { term, candidateId, value, leaseDurationMs, released, ageMs, holdMs, broken, handover } = sighting.sign;
    const sinceMs = this.#clock.monotonicMs() - sighting.atMs;
    const isOver = ageMs + sinceMs >= leaseDurationMs || broken?.immediate === true;
    const state = released ? "vacant" : isOver ? "expired" : broken || handover ? "ending" : "held";
    const transferTo = handover && handover.leftMs > sinceMs ? handover.candidateId : undefined;
    const bar = barOf({ state, holdMs: Math.max(holdMs - sinceMs, 0), transferTo });
    // Who is asked for after it may come, though it was broken before.
    const isLast = (broken?.number ?? 0) > (handover?.number ?? 0);
    const isNobodys = released || candidateId === "";
    return {
      election,
      state,
      term,
      ...(isNobodys ? {} : { holder: candidateId, ageMs: [ageMs + sinceMs, Infinity] as const, leaseDurationMs }),
      ...(value === undefined || isNobodys ? {} : { value }),
      ...(bar === undefined ? {} : { bar }),
      ...(broken && isLast && !released ? { endingReason: broken.reason } : {}),
    };
  }
}

function isLater(one: Sign, other: Sign): boolean {
  if (one.term !== other.term) return one.term > other.term;
  if (one.released !== other.released) return one.released;
  if (one.number !== other.number) return one.number > other.number;
  return lastOrderOf(one) > lastOrderOf(other);
}
