import type { Clock } from "@leasehold/core";
import { SAFETY_MARGIN } from "@leasehold/core/provider";
import type { Elect, Lead, Request, Told } from "./messages.ts";

/**
 * What a server may not do whose disk keeps nothing, so that it can begin again by its clock once the longest lease is over: all
 * leases that it has taken have ended by then, and no term that it has voted for is above its clock.
 */
export class Forgetfulness {
  readonly #clock: Clock;
  readonly longestLeaseMs: number;

  constructor(clock: Clock, longestLeaseMs: number) {
    this.#clock = clock;
    this.longestLeaseMs = longestLeaseMs;
  }

  forbids(request: Request): request is Elect | Lead {
    if (request.kind !== "ELECT" && request.kind !== "LEAD") return false;
    if (request.leaseDurationMs > this.longestLeaseMs) return true;
    return request.kind === "ELECT" && !request.trial && request.term > this.highestTerm;
  }

  /** The highest that it may vote for. The clock gives a term each second. It and the one that times the wait may differ as much as any two. */
  get highestTerm(): number {
    return this.#highestAt(this.#clock.wallMs());
  }

  /**
   * Reports whether a term may have been led, by this server's clock or by half of all that are known: its own may be the wrong
   * one. A LEAD below such a term may be of a claim that has been overtaken, and is kept out.
   */
  isPossible(term: number, told: ReadonlyArray<Pick<Told, "wallMs">>): boolean {
    if (term <= this.highestTerm) return true;
    const allowing = told.filter(({ wallMs }) => term <= this.#highestAt(wallMs));
    return 2 * allowing.length >= told.length + 1;
  }

  #highestAt(wallMs: number): number {
    return Math.floor((wallMs + this.longestLeaseMs * (1 - SAFETY_MARGIN)) / 1_000);
  }

  /**
   * How another server's clock differs from this one's by more than it may, in words; undefined where that is not certain.
   *
   * @param wallMs what that clock has shown since `askedMs` of this one.
   */
  differenceOf(wallMs: number, askedMs: number): string | undefined {
    const isAhead = wallMs - this.#clock.wallMs() > this.longestLeaseMs;
    const isBehind = askedMs - wallMs > this.longestLeaseMs;
    if (!isAhead && !isBehind) return undefined;
    const where = isAhead ? "ahead of" : "behind";
    return `more than ${this.longestLeaseMs / 1_000} s ${where} this one: servers that keep nothing take their terms from their clocks, which have to agree to within longestLeaseMs. Correct the wrong one.`;
  }
}
