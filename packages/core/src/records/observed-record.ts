import { holderElapsedMs, type Clock, type Instant } from "../time/clock.ts";
import type { StoreClock } from "../store/capabilities.ts";
import type { Expiry } from "../store/lease-store.ts";
import type { LeaseRecord, StoredRecord } from "./record-store.ts";
import { RenewalPhase } from "./renewal-phase.ts";
import { StoreAge, type RecordReading } from "./store-age.ts";

/** The number of earlier versions that are remembered. A reply that shows one of them comes from a replica that lags. */
const PAST_VERSIONS = 16;

/** One election's record as this process has observed it. Its age counts from the return of the read that showed the nonce. */
export class ObservedRecord {
  readonly #clock: Clock;
  readonly #storeClock: StoreClock | undefined;
  record: LeaseRecord;
  version: string;
  /** True where the store has no record: `record` stands for one that is gone. */
  isMissing = false;
  /** True where a conditional write on `version` was refused, and the answer did not show the present record. */
  outdated = false;
  #firstSeenMs: number;
  /** The send of the last read that showed another nonce. The present nonce was written after it. */
  #writtenAfter: Instant | undefined;
  #lastReadAt: Instant | undefined;
  #storeAge: StoreAge;
  #phase: RenewalPhase;
  /** The versions before the present one, the latest last. */
  #pastVersions: readonly string[] = [];

  constructor(clock: Clock, storeClock: StoreClock | undefined, reading: RecordReading) {
    this.#clock = clock;
    this.#storeClock = storeClock;
    this.#storeAge = new StoreAge(clock, storeClock);
    this.record = reading.record;
    this.version = reading.version;
    this.#firstSeenMs = firstSeenMs(clock, reading);
    this.#phase = new RenewalPhase(reading.record.renewIntervalMs);
    this.update(reading);
  }

  /** Reports whether a reply, of any replica, shows less than this process has observed already. */
  isPast(stored: StoredRecord | undefined): boolean {
    if (!stored) return true;
    const { term } = (stored.data ?? {}) as Partial<LeaseRecord>;
    return this.#pastVersions.includes(stored.version) || (typeof term === "number" && term < this.record.term);
  }

  /** Reports whether the store's clock counts: if `expiry` asks for it, and always if it is exact. */
  countsStoreClock(expiry: Expiry | undefined): boolean {
    return expiry === "store-clock" || this.#storeClock?.exact === true;
  }

  /** Reports whether a second read would help: an unconfirmed age would end a wait, or is the only upper bound. */
  get wantsConfirmation(): boolean {
    const unconfirmedMs = this.#storeAge.unconfirmedMs;
    if (unconfirmedMs === undefined) return false;
    const waitsMs = waitsOf(this.record);
    return waitsMs.length > 0 && (!this.#writtenAfter || unconfirmedMs >= Math.min(...waitsMs));
  }

  /** Reports whether a candidate needs the age, and no trusted clock shows it (after a failover). The age is then restarted. */
  get isAgeUnknown(): boolean {
    const waitsMs = waitsOf(this.record);
    return waitsMs.length > 0 && this.#storeAge.isAgeUnknown(Math.min(...waitsMs));
  }

  /** Reports whether a read that was sent later than `sentAt` has returned already. */
  overtook(sentAt: Instant): boolean {
    return this.#lastReadAt !== undefined && sentAt.monotonicMs < this.#lastReadAt.monotonicMs;
  }

  update(reading: RecordReading): void {
    const nowMs = this.#clock.monotonicMs();
    const changed = reading.record.nonce !== this.record.nonce;
    const sameTerm = reading.record.termId === this.record.termId;
    if (changed) {
      this.#firstSeenMs = firstSeenMs(this.#clock, reading);
      this.#writtenAfter = this.#lastReadAt;
    }
    if (changed || this.#storeAge.isBefore(reading)) this.#storeAge = new StoreAge(this.#clock, this.#storeClock);
    if (!sameTerm || reading.record.renewIntervalMs !== this.record.renewIntervalMs) {
      this.#phase = new RenewalPhase(reading.record.renewIntervalMs);
    }
    this.#phase.polled(reading.sentAt.monotonicMs, nowMs, changed && sameTerm);
    this.#lastReadAt = reading.sentAt;
    this.outdated = false;
    this.isMissing = reading.lostTerm !== undefined;
    if (reading.version !== this.version) {
      const past = this.#pastVersions.filter((one) => one !== reading.version);
      this.#pastVersions = [...past, this.version].slice(-PAST_VERSIONS);
    }
    this.record = reading.record;
    this.version = reading.version;
    this.#storeAge.note(reading);
  }

  /** Returns bounds of the nonce's age. The lower one decides expiry, the upper one only if the state is `unknown`. */
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

  nextRenewalPollMs(): number {
    return this.#phase.nextPollMs(this.#clock.monotonicMs());
  }
}

function firstSeenMs(clock: Clock, { nonceKnownForMs = 0 }: RecordReading): number {
  return clock.monotonicMs() - nonceKnownForMs;
}

/** Returns the ages at which another candidate may acquire. While a lease lasts, the end of a block lets nobody acquire. */
function waitsOf({ termId, leaseDurationMs, bars = [] }: LeaseRecord): number[] {
  return termId === null ? bars.flatMap(({ untilMs }) => untilMs ?? []) : [leaseDurationMs];
}
