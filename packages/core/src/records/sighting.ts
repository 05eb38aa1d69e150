import { holderElapsedMs, type Clock, type Instant } from "../time/clock.ts";
import type { StoreClock } from "../store/capabilities.ts";
import type { Expiry } from "../store/lease-store.ts";
import type { LeaseRecord, StoredRecord } from "./record-store.ts";
import { RenewalPhase } from "./renewal-phase.ts";
import { StoreAge, type Reading } from "./store-age.ts";

/** The number of versions that have passed which are remembered, to know a replica that lags by what it shows. */
const PAST_VERSIONS = 16;

/**
 * One election's record as this process has seen it, and when: *observed* expiry is judged by it. The least
 * age counts from after the reading that first showed the nonce returned, by the monotonic clock alone.
 */
export class Sighting {
  readonly #clock: Clock;
  readonly #storeClock: StoreClock | undefined;
  #record: LeaseRecord;
  #version: string;
  #firstSeenMs: number;
  /** The nonce was written after this: the last reading that showed another one was sent then. */
  #writtenAfter: Instant | undefined;
  #lastReadAt: Instant | undefined;
  /** The age of the present nonce by the store's clock. */
  #storeAge: StoreAge;
  #phase: RenewalPhase;
  #outdated = false;
  #isMissing = false;
  /** The versions that came before the present one, the latest last. */
  #pastVersions: readonly string[] = [];

  constructor(clock: Clock, storeClock: StoreClock | undefined, reading: Reading) {
    this.#clock = clock;
    this.#storeClock = storeClock;
    this.#storeAge = new StoreAge(clock, storeClock);
    this.#record = reading.record;
    this.#version = reading.version;
    this.#firstSeenMs = firstSeenMs(clock, reading);
    this.#phase = new RenewalPhase(reading.record.renewIntervalMs);
    this.update(reading);
  }

  get record(): LeaseRecord {
    return this.#record;
  }

  get version(): string {
    return this.#version;
  }

  /** There is no record in the store: {@link record} stands for one that is gone. */
  get isMissing(): boolean {
    return this.#isMissing;
  }

  /**
   * This is not the latest: a conditional write on `version` was refused, and the answer did not show what is there. Somebody has written
   * since, though perhaps not renewed.
   */
  get outdated(): boolean {
    return this.#outdated;
  }

  outdate(): void {
    this.#outdated = true;
  }

  /** Reports whether a reading, of whichever replica, shows less than this process has seen already. */
  isPast(stored: StoredRecord | undefined): boolean {
    if (!stored) return true;
    const { term } = (stored.data ?? {}) as Partial<LeaseRecord>;
    return this.#pastVersions.includes(stored.version) || (typeof term === "number" && term < this.#record.term);
  }

  /** Reports whether the store's clock counts: where that was asked for, and always where it is exact. */
  countsStoreClock(expiry: Expiry | undefined): boolean {
    return expiry === "store-clock" || this.#storeClock?.exact === true;
  }

  /** Reports whether a second reading would help: the age by the store's clock does not count yet, and there is no other. */
  get wantsConfirmation(): boolean {
    const unconfirmedMs = this.#storeAge.unconfirmedMs;
    if (unconfirmedMs === undefined) return false;
    const waitsMs = waitsOf(this.#record);
    return waitsMs.length > 0 && (!this.#writtenAfter || unconfirmedMs >= Math.min(...waitsMs));
  }

  /**
   * Somebody waits for an age that no process can know which has not seen the record before, as after a failover that took the
   * holder with it: no clock is believed. It has to be dated anew, or they would wait for ever.
   */
  get isUndated(): boolean {
    const waitsMs = waitsOf(this.#record);
    return waitsMs.length > 0 && this.#storeAge.isUndated(Math.min(...waitsMs));
  }

  /** Reports whether a reading asked for at `sentAt` was overtaken: a later one has returned before it. */
  overtook(sentAt: Instant): boolean {
    return this.#lastReadAt !== undefined && sentAt.monotonicMs < this.#lastReadAt.monotonicMs;
  }

  /** Takes in a reading that was not overtaken. */
  update(reading: Reading): void {
    const nowMs = this.#clock.monotonicMs();
    const changed = reading.record.nonce !== this.#record.nonce;
    const sameTerm = reading.record.termId === this.#record.termId;
    if (changed) {
      this.#firstSeenMs = firstSeenMs(this.#clock, reading);
      this.#writtenAfter = this.#lastReadAt;
    }
    if (changed || this.#storeAge.isBefore(reading)) this.#storeAge = new StoreAge(this.#clock, this.#storeClock);
    if (!sameTerm || reading.record.renewIntervalMs !== this.#record.renewIntervalMs) {
      this.#phase = new RenewalPhase(reading.record.renewIntervalMs);
    }
    this.#phase.looked(reading.sentAt.monotonicMs, nowMs, changed && sameTerm);
    this.#lastReadAt = reading.sentAt;
    this.#outdated = false;
    this.#isMissing = reading.lostTerm !== undefined;
    this.#notePast(reading.version);
    this.#record = reading.record;
    this.#version = reading.version;
    this.#storeAge.note(reading);
  }

  /**
   * Bounds of the present nonce's age. The lower one decides expiry, so it never counts time that may not have passed;
   * the upper one is only reported.
   */
  ageMs(expiry: Expiry | undefined): [min: number, max: number] {
    const nowMs = this.#clock.monotonicMs();
    let min = nowMs - this.#firstSeenMs;
    let max = this.#writtenAfter ? holderElapsedMs(this.#clock, this.#writtenAfter) : Infinity;
    const measured = this.countsStoreClock(expiry) ? this.#storeAge.boundsMs : undefined;
    if (measured) {
      min = Math.max(min, measured[0]);
      max = Math.min(max, measured[1]);
    }
    return [min, Math.max(min, max)];
  }

  /** Returns the time until the look that should find the next renewal. */
  nextRenewalLookMs(): number {
    return this.#phase.nextLookMs(this.#clock.monotonicMs());
  }

  /** Notes which versions have passed: replies come in order. */
  #notePast(version: string): void {
    if (version === this.#version) return;
    const past = this.#pastVersions.filter((one) => one !== version);
    this.#pastVersions = [...past, this.#version].slice(-PAST_VERSIONS);
  }
}

function firstSeenMs(clock: Clock, { nonceKnownForMs = 0 }: Reading): number {
  return clock.monotonicMs() - nonceKnownForMs;
}

/** For what ages of a nonce somebody may wait: those at which it becomes another one's turn. */
function waitsOf({ termId, leaseDurationMs, bars = [] }: LeaseRecord): number[] {
  const waits = [termId === null ? null : leaseDurationMs, ...bars.map(({ untilMs }) => untilMs)];
  return waits.filter((ms) => ms !== null);
}
