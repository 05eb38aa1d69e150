import { holderElapsedMs, instantOf, type Clock, type Instant } from "../time/clock.ts";
import type { StoreClock } from "../store/capabilities.ts";
import type { LeaseRecord, StoredRecord } from "./record-store.ts";

export interface RecordReading extends Pick<
  StoredRecord,
  "version" | "nonceAgeMs" | "nonceKnownForMs" | "nonceWallMs" | "ageUnknown" | "lostTerm"
> {
  readonly record: LeaseRecord;
  readonly sentAt: Instant;
}

interface Measured {
  readonly minMs: number;
  readonly maxMs: number;
  /** The trusted age: `minMs`, or the age by the wall clocks if that is smaller. */
  readonly leastMs: number;
  readonly askedAt: Instant;
  readonly inAt: Instant;
}

/**
 * The age of one nonce by the store's own clock, and whether to trust it. An inexact clock is trusted after a second reading only.
 * A clock that may be set is compared with the wall clocks of writer and reader. The smaller age counts, so a wrong wall clock can
 * only make a reader wait longer.
 */
export class StoreAge {
  readonly #clock: Clock;
  readonly #trust: StoreClock | undefined;
  #measured: Measured | undefined;
  /** True once clocks have contradicted each other. Until the next nonce only the observations of this process count. */
  #doubted = false;
  #confirmed: boolean;
  /** The writer's wall clock at the instant from which the store counts the age. */
  #wallMs: number | undefined;
  /** The greatest age that any clock shows. Present if a clock may have been changed, or if the writer did not know the time. */
  #saidMs: number | undefined;

  constructor(clock: Clock, trust: StoreClock | undefined) {
    this.#clock = clock;
    this.#trust = trust;
    this.#confirmed = trust?.exact === true;
  }

  note(reading: RecordReading): void {
    const trust = this.#trust;
    if (!trust) return;
    const inAt = instantOf(this.#clock);
    if (!trust.mayStep) this.#saidMs = reading.ageUnknown ? Infinity : undefined;
    if (trust.mayStep && reading.nonceWallMs !== undefined) {
      this.#wallMs = reading.nonceWallMs;
      const wallAgeMs = inAt.wallMs - reading.nonceWallMs;
      // A write time in the future shows no age: the age may be any.
      const mayBeMs = wallAgeMs < -trust.toleranceMs ? Infinity : wallAgeMs;
      this.#saidMs = Math.max(wallAgeMs, reading.nonceAgeMs?.[0] ?? mayBeMs);
    }
    if (!reading.nonceAgeMs) return;
    const [minMs, maxMs] = reading.nonceAgeMs;
    const { sentAt: askedAt, nonceWallMs = -Infinity } = reading;
    const measured = { minMs, maxMs, leastMs: Math.min(minMs, inAt.wallMs - nonceWallMs), askedAt, inAt };
    if (minMs < 0) this.#doubted = true;
    if (trust.mayStep) this.#measured = this.#askWallClocks(measured, reading.nonceWallMs, trust);
    else {
      // An exact clock is not compared with the clock of this process.
      if (this.#measured && !trust.exact) this.#compare(measured, this.#measured, trust);
      this.#measured = measured;
    }
  }

  /** Bounds of the present age, in milliseconds. The lower one is safe to decide by. `undefined` where no age is believed. */
  get boundsMs(): readonly [min: number, max: number] | undefined {
    if (!this.#measured || this.#doubted || !this.#confirmed) return undefined;
    const { leastMs, maxMs, askedAt, inAt } = this.#measured;
    return [leastMs + this.#clock.monotonicMs() - inAt.monotonicMs, maxMs + holderElapsedMs(this.#clock, askedAt)];
  }

  get unconfirmedMs(): number | undefined {
    return this.#confirmed || this.#doubted ? undefined : this.#measured?.leastMs;
  }

  /** Reports whether somebody has restarted the age: the reading shows another time of the writer. */
  isBefore({ nonceWallMs }: RecordReading): boolean {
    return this.#wallMs !== undefined && nonceWallMs !== undefined && nonceWallMs !== this.#wallMs;
  }

  /** Reports whether no age is trusted, although some clock shows an age of at least `waitMs`. */
  isAgeUnknown(waitMs: number): boolean {
    return this.boundsMs === undefined && this.#saidMs !== undefined && this.#saidMs >= waitMs;
  }

  /** Doubts an age that exceeds the wall clocks' age. Trusts a smaller one, because a slow write arrives after its send. */
  #askWallClocks(measured: Measured, nonceWallMs: number | undefined, { toleranceMs }: StoreClock): Measured | undefined {
    if (nonceWallMs === undefined) return undefined;
    const mostMs = measured.inAt.wallMs - nonceWallMs;
    if (measured.minMs > mostMs + toleranceMs) this.#doubted = true;
    else this.#confirmed = true;
    return measured;
  }

  /** Compares two readings with the time between them. Confirms the age, or doubts it. */
  #compare(measured: Measured, before: Measured, { toleranceMs }: StoreClock): void {
    const leastMs = before.minMs + measured.askedAt.monotonicMs - before.inAt.monotonicMs - toleranceMs;
    const mostMs = before.maxMs + holderElapsedMs(this.#clock, before.askedAt) + toleranceMs;
    if (measured.maxMs < leastMs || measured.minMs > mostMs) this.#doubted = true;
    else this.#confirmed = true;
  }
}
