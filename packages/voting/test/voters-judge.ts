import { holderElapsedMs, SAFETY_MARGIN, type Instant, type Lease } from "@leasehold/core/provider";
import type { ProcessClock, VirtualClock } from "@leasehold/core/testing";
import { TransferPromise } from "./transfer-promise.ts";

/** The highest rate of any voter's clock, relative to the true time. */
const FASTEST_RATE = 1.05;
/** An instant of one clock is converted to another clock with this rounding error at most. */
const ROUNDING_MS = 0.01;

/** A term whose leader was told of its win in time. */
export interface LedTerm {
  readonly lease: Lease;
  readonly clock: ProcessClock;
  readonly rate: number;
  /** In true time. */
  validUntilMs: number;
}

/** The promises to the leaders of one election, and to its administrators, judged by the true time. */
export class VotersJudge {
  /** The number of promises of each kind. */
  readonly promises = { terms: 0, renewals: 0, holds: 0, breaks: 0 };
  readonly #time: VirtualClock;
  readonly #violate: (rule: string, what: string) => void;
  #ledTerms: LedTerm[] = [];
  #highestTerm = 0;
  /** The term whose release was confirmed, and the time until which its hold blocks candidates. */
  #hold: { readonly term: number; readonly untilMs: number } | undefined;
  /**
   * Terms that an order to break may have hit. And those of them that were ordered to end at once, whose successors do not wait.
   */
  readonly #ordered = new Set<number>();
  readonly #exempt = new Set<number>();
  /** Terms whose break was confirmed, and when. */
  readonly #broken = new Map<number, number>();
  readonly transfer: TransferPromise;

  constructor(time: VirtualClock, violate: (rule: string, what: string) => void) {
    this.#time = time;
    this.transfer = new TransferPromise(time, FASTEST_RATE);
    this.#violate = violate;
  }

  /** The leaders that are valid, each by its own clock. */
  get ledTerms(): readonly LedTerm[] {
    const nowMs = this.#time.monotonicMs();
    this.#ledTerms = this.#ledTerms.filter(({ clock, validUntilMs }) => clock.alive && validUntilMs > nowMs);
    return this.#ledTerms;
  }

  /** Records that a server was told that it leads. Returns undefined if that came too late. */
  wins(lease: Lease, clock: ProcessClock, rate: number): LedTerm | undefined {
    const ledTerm = { lease, clock, rate, validUntilMs: -Infinity };
    ledTerm.validUntilMs = this.#validUntilMs(ledTerm, lease.grantedAt);
    if (ledTerm.validUntilMs <= this.#time.monotonicMs()) return undefined;
    const { term } = lease;
    if (term <= this.#highestTerm && !this.#exempt.has(term)) {
      this.#violate("terms-rise", `term ${term} after term ${this.#highestTerm}`);
    }
    const sentMs = this.#sentMs(ledTerm, lease.grantedAt);
    // A former leader that was broken at once may learn of its win only now. Its successor's hold does not concern it.
    const isBefore = this.#hold !== undefined && term < this.#hold.term && this.#exempt.has(term);
    if (this.#hold && !isBefore && sentMs < this.#hold.untilMs - ROUNDING_MS) {
      this.#violate("hold-holds", `term ${term} is led during the hold of term ${this.#hold.term}`);
    }
    const isFor = this.transfer.leads(term, lease.candidateId, sentMs + ROUNDING_MS);
    if (isFor !== undefined)
      this.#violate("reservation-holds", `term ${term} is led by ${lease.candidateId}, and kept for ${isFor}`);
    this.promises.terms += 1;
    this.#highestTerm = Math.max(this.#highestTerm, term);
    if (!isBefore) this.#hold = undefined;
    this.#seeAlone(ledTerm);
    this.#ledTerms.push(ledTerm);
    return ledTerm;
  }

  /**
   * Records that the lease counts from `extendedAt` on, by the leader's own clock.
   *
   * @param askedMs the time of the renewal's call, in true time.
   */
  renewed(ledTerm: LedTerm, extendedAt: Instant, askedMs: number): void {
    // A late success proves nothing.
    if (!this.ledTerms.includes(ledTerm)) return;
    const { term } = ledTerm.lease;
    const brokenMs = this.#broken.get(term) ?? Infinity;
    if (askedMs > brokenMs && this.#sentMs(ledTerm, extendedAt) > brokenMs)
      this.#violate("break-holds", `term ${term} is renewed`);
    this.promises.renewals += 1;
    ledTerm.validUntilMs = Math.max(ledTerm.validUntilMs, this.#validUntilMs(ledTerm, extendedAt));
    this.#seeAlone(ledTerm);
  }

  /** Records that the leader's validity ends. Its RELEASE is sent after that. */
  gives(ledTerm: LedTerm): void {
    this.#ledTerms = this.#ledTerms.filter((each) => each !== ledTerm);
  }

  /** A majority has the RELEASE that was sent at `sentMs` of the true time. */
  released({ lease: { term } }: LedTerm, sentMs: number, holdMs: number): void {
    this.transfer.released(term, sentMs);
    const untilMs = sentMs + holdMs / FASTEST_RATE;
    if (holdMs === 0 || term !== this.#highestTerm || this.#ordered.has(term)) return;
    this.promises.holds += 1;
    this.#hold = { term, untilMs };
  }

  /** Records that a BREAK is sent. It may be carried out at any time from now on, or never. */
  orders(term: number, immediate: boolean): void {
    this.#ordered.add(term);
    if (immediate) this.#exempt.add(term);
    if (this.#hold?.term === term) this.#hold = undefined;
  }

  /** The leader may learn at any time that its term is broken. */
  wasOrdered({ lease }: LedTerm): boolean {
    return this.#ordered.has(lease.term);
  }

  /** Records that an administrator was told that this term is broken. */
  breaks(term: number): void {
    this.promises.breaks += 1;
    if (!this.#broken.has(term)) this.#broken.set(term, this.#time.monotonicMs());
  }

  #seeAlone(ledTerm: LedTerm): void {
    const { term } = ledTerm.lease;
    for (const { lease } of this.ledTerms) {
      if (lease.term === term && lease.termId === ledTerm.lease.termId) continue;
      if (!this.#exempt.has(lease.term) && !this.#exempt.has(term))
        this.#violate("one-leader", `terms ${lease.term} and ${term}`);
    }
  }

  /** The time at which a request was sent, in true time. */
  #sentMs({ clock, rate }: LedTerm, at: Instant): number {
    return this.#time.monotonicMs() - holderElapsedMs(clock, at) / rate;
  }

  /** The time until which the holder counts on its lease, in true time. */
  #validUntilMs(ledTerm: LedTerm, grantedAt: Instant): number {
    return this.#sentMs(ledTerm, grantedAt) + (ledTerm.lease.leaseDurationMs * (1 - SAFETY_MARGIN)) / ledTerm.rate;
  }
}
