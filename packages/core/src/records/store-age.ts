import { holderElapsedMs, instantOf, type Clock, type Instant } from "../time/clock.ts";
import type { StoreClock } from "../store/capabilities.ts";
import type { LeaseRecord, StoredRecord } from "./record-store.ts";

/** One reading of a record. */
export interface Reading extends Pick<
  StoredRecord,
  "version" | "nonceAgeMs" | "nonceKnownForMs" | "nonceWallMs" | "undated" | "lostTerm"
> {
  readonly record: LeaseRecord;
  /** The instant at which the reading was asked for. */
  readonly sentAt: Instant;
}

/** The age that one reading has shown. */
interface Measured {
  /** The bounds by the store's clock. */
  readonly minMs: number;
  readonly maxMs: number;
  /** The part of `minMs` that is believed: the lesser age, where there is one by the wall clocks too. */
  readonly leastMs: number;
  readonly askedAt: Instant;
  readonly inAt: Instant;
}

/**
 * The age of one nonce by the store's own clock, and whether that may be believed. A clock that is not exact needs a
 * second opinion. Where it may be set, reading it twice shows nothing of a step since the nonce was written: there the
 * wall clocks of writer and reader must not say less. They can only make a reader wait longer: of both ages the lesser
 * counts, so that it takes two wrong clocks, which err alike, to make a lease look expired that is not. The wall clocks
 * count from when the writer sent the nonce. So does the writer, however late the nonce arrives.
 */
export class StoreAge {
  readonly #clock: Clock;
  readonly #trust: StoreClock | undefined;
  #measured: Measured | undefined;
  /** Clocks have contradicted each other: until the next nonce only what this process has observed counts. */
  #doubted = false;
  #confirmed: boolean;
  /** The writer's wall clock at the time that the store counts the age from. */
  #wallMs: number | undefined;
  /** The greatest age that any clock has shown or allows, believed or not, where one may have been set, or told the writer nothing. */
  #saidMs: number | undefined;

  constructor(clock: Clock, trust: StoreClock | undefined) {
    this.#clock = clock;
    this.#trust = trust;
    this.#confirmed = trust?.exact === true;
  }

  note(reading: Reading): void {
    const trust = this.#trust;
    if (!trust) return;
    const inAt = instantOf(this.#clock);
    if (!trust.mayStep) this.#saidMs = reading.undated ? Infinity : undefined;
    if (trust.mayStep && reading.nonceWallMs !== undefined) {
      this.#wallMs = reading.nonceWallMs;
      const wallAgeMs = inAt.wallMs - reading.nonceWallMs;
      // What is of the future says nothing of the age: it may be any.
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
      // An exact clock is not measured by this process's.
      if (this.#measured && !trust.exact) this.#compare(measured, this.#measured, trust);
      this.#measured = measured;
    }
  }

  /** Bounds of the age at present, the lower one safe to decide by; `undefined` where there is nothing to believe. */
  get boundsMs(): readonly [min: number, max: number] | undefined {
    if (!this.#measured || this.#doubted || !this.#confirmed) return undefined;
    const { leastMs, maxMs, askedAt, inAt } = this.#measured;
    return [leastMs + this.#clock.monotonicMs() - inAt.monotonicMs, maxMs + holderElapsedMs(this.#clock, askedAt)];
  }

  /** The age that another reading has to confirm before it counts. */
  get unconfirmedMs(): number | undefined {
    return this.#confirmed || this.#doubted ? undefined : this.#measured?.leastMs;
  }

  /** Reports whether somebody has dated the nonce anew: a reading is of a later time than those before it. */
  isBefore({ nonceWallMs }: Reading): boolean {
    return this.#wallMs !== undefined && nonceWallMs !== undefined && nonceWallMs !== this.#wallMs;
  }

  /**
   * Reports whether no age is believed, and some clock says that it is `waitMs` at least. The others may be wrong for years.
   */
  isUndated(waitMs: number): boolean {
    return this.boundsMs === undefined && this.#saidMs !== undefined && this.#saidMs >= waitMs;
  }

  /**
   * The least age, unless the store's exceeds what the wall clocks say. One that is less is believed: no clock says that it
   * is too much, and a write that was under way for long is younger than the time at which its writer had sent it.
   */
  #askWallClocks(measured: Measured, nonceWallMs: number | undefined, { toleranceMs }: StoreClock): Measured | undefined {
    if (nonceWallMs === undefined) return undefined;
    const mostMs = measured.inAt.wallMs - nonceWallMs;
    if (measured.minMs > mostMs + toleranceMs) this.#doubted = true;
    else this.#confirmed = true;
    return measured;
  }

  /** Decides whether two readings agree with the time between them. */
  #compare(measured: Measured, before: Measured, { toleranceMs }: StoreClock): void {
    const leastMs = before.minMs + measured.askedAt.monotonicMs - before.inAt.monotonicMs - toleranceMs;
    const mostMs = before.maxMs + holderElapsedMs(this.#clock, before.askedAt) + toleranceMs;
    if (measured.maxMs < leastMs || measured.minMs > mostMs) this.#doubted = true;
    else this.#confirmed = true;
  }
}
