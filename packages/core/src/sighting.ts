import { holderElapsedMs, instantOf, type Clock, type Instant } from "./clock.ts";
import type { LeaseRecord, RecordStoreCapabilities, StoredRecord } from "./record-store.ts";
import { RenewalPhase } from "./renewal-phase.ts";

/** How many versions that have passed are remembered, to know a replica that lags by what it shows. */
const PAST_VERSIONS = 16;

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
  readonly #toleranceMs: number;
  readonly #exact: boolean;
  #record: LeaseRecord;
  #version: string;
  #firstSeenMs: number;
  /** The nonce was written after this: the last reading that showed another one was sent then. */
  #writtenAfter: Instant | undefined;
  #lastReadAt: Instant | undefined;
  /** Whether the present version was pushed, rather than read. */
  #wasPushed = false;
  /** When a push was last taken in, by the monotonic clock. */
  #pushedMs = -Infinity;
  /** Bounds of the nonce's age by the store's clock: at least `min` when the reply was in, at most `max` when it was asked for. */
  #storeAge: { readonly min: number; readonly max: number; readonly askedAt: Instant; readonly inAt: Instant } | undefined;
  /** The store's clock has been seen to step since this nonce was written: until the next one only what we observed counts. */
  #stepped = false;
  /** Two readings of the store's clock have agreed since this nonce was written. */
  #agreed = false;
  #phase: RenewalPhase;
  #outdated = false;
  /** What came before the present version, the latest last. */
  #pastVersions: readonly string[] = [];

  /** @param storeClock how far its readings may disagree with our own before it counts as stepped, and whether one is enough. */
  constructor(clock: Clock, storeClock: RecordStoreCapabilities["storeClock"], reading: Reading) {
    this.#clock = clock;
    this.#toleranceMs = storeClock?.toleranceMs ?? 0;
    this.#exact = storeClock?.exact ?? false;
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

  /** Whether a reading, of whichever replica, shows less than this process has seen already. */
  isPast(stored: StoredRecord | undefined): boolean {
    if (!stored) return true;
    const { term } = (stored.data ?? {}) as Partial<LeaseRecord>;
    return this.#pastVersions.includes(stored.version) || (typeof term === "number" && term < this.#record.term);
  }

  /** Whether a push has come since `sentAt` that shows something else: then a reading asked for at that time may be older, or newer. */
  isContested(sentAt: Instant, stored: StoredRecord | undefined): boolean {
    return sentAt.monotonicMs <= this.#pushedMs && stored?.version !== this.#version;
  }

  /** Whether a second reading would tell more: what the store's clock has told does not count yet, and is all there is to go by. */
  get wantsConfirmation(): boolean {
    if (!this.#storeAge || !this.#unconfirmed) return false;
    const waitsMs = waitsOf(this.#record);
    return waitsMs.length > 0 && (!this.#writtenAfter || this.#storeAge.min >= Math.min(...waitsMs));
  }

  /** The store's clock has told an age that another reading has to confirm before it counts. */
  get #unconfirmed(): boolean {
    return this.#storeAge !== undefined && !this.#exact && !this.#agreed;
  }

  /** Whether a reading asked for at `sentAt` was overtaken: a later one has returned before it. */
  overtook(sentAt: Instant | undefined): boolean {
    return sentAt !== undefined && this.#lastReadAt !== undefined && sentAt.monotonicMs < this.#lastReadAt.monotonicMs;
  }

  /** Takes in a reading, unless it was overtaken. */
  update(reading: Reading): void {
    if (this.overtook(reading.sentAt)) return;
    const nowMs = this.#clock.monotonicMs();
    const changed = reading.record.nonce !== this.#record.nonce;
    const sameTerm = reading.record.termId === this.#record.termId;
    if (changed) {
      this.#firstSeenMs = nowMs;
      this.#writtenAfter = this.#lastReadAt;
      this.#storeAge = undefined;
      this.#stepped = false;
      this.#agreed = false;
    }
    if (!sameTerm || reading.record.renewIntervalMs !== this.#record.renewIntervalMs) {
      this.#phase = new RenewalPhase(reading.record.renewIntervalMs);
    }
    if (reading.sentAt) {
      this.#phase.looked(reading.sentAt.monotonicMs, nowMs, changed && sameTerm);
      this.#lastReadAt = reading.sentAt;
    } else {
      this.#pushedMs = nowMs;
    }
    this.#notePast(reading);
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
    if (useStoreClock && this.#storeAge && !this.#unconfirmed) {
      min = Math.max(min, this.#storeAge.min + nowMs - this.#storeAge.inAt.monotonicMs);
      max = Math.min(max, this.#storeAge.max + holderElapsedMs(this.#clock, this.#storeAge.askedAt));
    }
    return [min, Math.max(min, max)];
  }

  /** How long until the look that should find the next renewal. */
  nextRenewalLookMs(): number {
    return this.#phase.nextLookMs(this.#clock.monotonicMs());
  }

  /** What is read comes in order, and what is pushed does; between the two nobody can tell which is the older. */
  #notePast({ version, sentAt }: Reading): void {
    const isPushed = sentAt === undefined;
    if (version !== this.#version) {
      const past = this.#pastVersions.filter((one) => one !== version);
      this.#pastVersions = isPushed === this.#wasPushed ? [...past, this.#version].slice(-PAST_VERSIONS) : past;
    }
    this.#wasPushed = isPushed;
  }

  #noteStoreAge(reading: Reading): void {
    if (!reading.nonceAgeMs) return;
    const [min, max] = reading.nonceAgeMs;
    const inAt = instantOf(this.#clock);
    // What was pushed was asked for at no time; its delay is not known, and its upper bound is only reported.
    const askedAt = reading.sentAt ?? inAt;
    const before = this.#storeAge;
    // An exact clock is not measured by this process's; and what it pushes has been under way for nobody knows how long.
    if (before && !this.#exact) {
      const leastMs = before.min + askedAt.monotonicMs - before.inAt.monotonicMs - this.#toleranceMs;
      const mostMs = before.max + holderElapsedMs(this.#clock, before.askedAt) + this.#toleranceMs;
      if (max < leastMs || min > mostMs) this.#stepped = true;
      else this.#agreed = true;
    }
    if (min < 0) this.#stepped = true;
    this.#storeAge = this.#stepped ? undefined : { min, max, askedAt, inAt };
  }
}

/** For what ages of a nonce somebody may wait: those at which it becomes another one's turn. */
function waitsOf({ termId, leaseDurationMs, holdMs, reservation, transfer }: LeaseRecord): number[] {
  const waits = [termId === null ? undefined : leaseDurationMs, holdMs, reservation?.durationMs, transfer?.timeoutMs];
  return waits.filter((ms) => ms !== undefined);
}
