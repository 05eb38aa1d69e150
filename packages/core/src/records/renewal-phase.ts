import { AIM_DRIFT, intersect, middle, shift, widen, width, type Interval } from "../time/interval.ts";

/** Once the phase is known to this many milliseconds, a standby polls just after it. */
const SHARP_MS = 20;
/** The time from the latest expected renewal to the poll for it, in milliseconds. */
const SETTLE_MS = 10;
/** The waits before the two quick extra polls for an expected renewal that is missing, in milliseconds. */
const EXTRA_POLLS_MS: readonly number[] = [40, 120];

/** The instants at which a holder renews, as a standby learns them from polls. They time polls; no decision needs them. */
export class RenewalPhase {
  readonly #intervalMs: number;
  #last: Interval | undefined;
  #lastPollSentMs: number | undefined;
  #missed = 0;

  constructor(renewIntervalMs: number) {
    this.#intervalMs = renewIntervalMs;
  }

  polled(sentMs: number, returnedMs: number, renewed: boolean): void {
    if (renewed) this.#renewed({ lo: this.#lastPollSentMs ?? returnedMs - this.#intervalMs, hi: returnedMs });
    else this.#notRenewed(sentMs);
    this.#lastPollSentMs = sentMs;
  }

  nextPollMs(nowMs: number): number {
    if (!this.#last) return this.#intervalMs;
    const periods = Math.max(1, Math.ceil((nowMs - this.#last.hi - SETTLE_MS) / this.#intervalMs));
    const again = EXTRA_POLLS_MS[this.#missed - 1];
    if (periods > 1 && again !== undefined) return again;
    const next = this.#expected(this.#last, periods);
    // A poll at the middle halves the uncertainty. Once the phase is sharp, the poll comes just after it.
    const aim = width(next) > SHARP_MS && middle(next) > nowMs ? middle(next) : next.hi + SETTLE_MS;
    return aim - nowMs;
  }

  #renewed(seen: Interval): void {
    this.#missed = 0;
    if (!this.#last) {
      this.#last = seen;
      return;
    }
    const periods = Math.max(1, Math.round((seen.hi - this.#last.hi) / this.#intervalMs));
    this.#last = intersect(this.#expected(this.#last, periods), seen) ?? seen;
  }

  #notRenewed(sentMs: number): void {
    if (!this.#last) return;
    const next = this.#expected(this.#last, 1);
    // The renewal had not come by `sentMs`. It comes later, or the phase is wrong, or nobody renews any more.
    if (sentMs > next.hi) this.#missed += 1;
    else if (sentMs > next.lo) this.#last = { lo: Math.min(sentMs - this.#intervalMs, this.#last.hi), hi: this.#last.hi };
  }

  #expected(last: Interval, periods: number): Interval {
    return widen(shift(last, periods * this.#intervalMs), periods * this.#intervalMs * AIM_DRIFT);
  }
}
