import { holderElapsedMs, instantOf, type Clock, type Instant } from "./clock.ts";
import type { LeaseRecord } from "./record-store.ts";
import { RenewalPhase } from "./renewal-phase.ts";

/** One reading of a record: when it was sent, and bounds of the nonce's age by the store's clock when it returned. */
export interface Reading {
  readonly record: LeaseRecord;
  readonly version: string;
  /** When the reading was asked for; absent where the store pushed it, since then nothing bounds its age from above. */
  readonly sentAt?: Instant | undefined;
  readonly nonceAgeMs?: readonly [min: number, max: number] | undefined;
}

/**
 * What this process has seen of one election's record: the memory that rule 3's *observed* expiry needs. The least
 * age counts from after the reading that first showed the nonce returned, by the monotonic clock alone.
 */
export class Sighting {
  readonly #clock: Clock;
  #record: LeaseRecord;
  #version: string;
  #firstSeenMs: number;
  /** The nonce was written after this: the last reading that showed another one was sent then. */
  #writtenAfter: Instant | undefined;
  #lastReadAt: Instant | undefined;
  /** Bounds of the nonce's age by the store's clock, and when they held. */
  #storeAge: { readonly min: number; readonly max: number; readonly at: Instant } | undefined;
  #phase: RenewalPhase;
  #outdated = false;

  constructor(clock: Clock, reading: Reading) {
    this.#clock = clock;
    this.#record = reading.record;
    this.#version = reading.version;
    this.#firstSeenMs = clock.monotonicMs();
    this.#phase = new RenewalPhase(reading.record.renewIntervalMs);
    this.update(reading);
  }

  get record(): LeaseRecord {
    return this.#record;
  }

  get version(): string {
    return this.#version;
  }

  /** A conditional write on `version` failed: somebody has written since, though perhaps not renewed. */
  get outdated(): boolean {
    return this.#outdated;
  }

  outdate(): void {
    this.#outdated = true;
  }

  /** Takes in a newer reading. */
  update(reading: Reading): void {
    const nowMs = this.#clock.monotonicMs();
    const changed = reading.record.nonce !== this.#record.nonce;
    const sameTerm = reading.record.termId === this.#record.termId;
    if (changed) {
      this.#firstSeenMs = nowMs;
      this.#writtenAfter = this.#lastReadAt;
      this.#storeAge = undefined;
    }
    if (!sameTerm || reading.record.renewIntervalMs !== this.#record.renewIntervalMs) {
      this.#phase = new RenewalPhase(reading.record.renewIntervalMs);
    }
    if (reading.sentAt) {
      this.#phase.looked(reading.sentAt.monotonicMs, nowMs, changed && sameTerm);
      this.#lastReadAt = reading.sentAt;
    }
    this.#record = reading.record;
    this.#version = reading.version;
    this.#outdated = false;
    this.#noteStoreAge(reading);
  }

  /**
   * Bounds of the present nonce's age. The lower one decides expiry, so it never counts time that may not have passed;
   * the upper one is only reported.
   */
  ageMs(useStoreClock: boolean): [min: number, max: number] {
    const nowMs = this.#clock.monotonicMs();
    let min = nowMs - this.#firstSeenMs;
    let max = this.#writtenAfter ? holderElapsedMs(this.#clock, this.#writtenAfter) : Infinity;
    if (useStoreClock && this.#storeAge) {
      min = Math.max(min, this.#storeAge.min + nowMs - this.#storeAge.at.monotonicMs);
      max = Math.min(max, this.#storeAge.max + holderElapsedMs(this.#clock, this.#storeAge.at));
    }
    return [min, Math.max(min, max)];
  }

  /** How long until the look that should find the next renewal. */
  nextRenewalLookMs(): number {
    return this.#phase.nextLookMs(this.#clock.monotonicMs());
  }

  #noteStoreAge(reading: Reading): void {
    // A negative age means that the store's clock has stepped: then only what we observed counts.
    if (!reading.nonceAgeMs || reading.nonceAgeMs[0] < 0) return;
    const [min, max] = reading.nonceAgeMs;
    this.#storeAge = { min, max, at: instantOf(this.#clock) };
  }
}
