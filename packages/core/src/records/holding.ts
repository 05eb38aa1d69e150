import type { Instant } from "../time/clock.ts";
import type { LeaseRecord } from "./record-store.ts";

/** A record as it was last found in the store, or written to it. */
export interface Found {
  readonly record: LeaseRecord;
  readonly version: string;
}

/**
 * Facts that a holder remembers beyond the lease itself: the last known record, and the writes whose outcome may be unknown. Each
 * of those writes is conditional on that record's version. So at most one of them arrives, and none once the version has passed.
 */
export class Holding implements Found {
  #found: Found;
  /** For each nonce that may still be found in the store, the instant at which it was sent. */
  readonly #sent: Map<string, Instant>;
  /** The nonce whose send time the elector knows. */
  #reportedNonce: string;
  /** The nonces of releases whose outcome is unknown. If the store shows one of them, the release has arrived. */
  #releases: readonly string[] = [];
  #overtaken = false;

  constructor(found: Found, grantedAt: Instant) {
    this.#found = found;
    this.#reportedNonce = found.record.nonce;
    this.#sent = new Map([[found.record.nonce, grantedAt]]);
  }

  get record(): LeaseRecord {
    return this.#found.record;
  }

  get version(): string {
    return this.#found.version;
  }

  /** True once a condition has failed: no write can succeed before the present record is known. */
  get overtaken(): boolean {
    return this.#overtaken;
  }

  overtake(): void {
    this.#overtaken = true;
  }

  /** Notes the record that the store holds, which is ours. */
  take(found: Found): void {
    this.#found = found;
    this.#overtaken = false;
  }

  /** Notes that a write with this nonce is about to be sent. */
  sending(nonce: string, sentAt: Instant): void {
    this.#sent.set(nonce, sentAt);
  }

  /** Returns the instant at which the nonce in the store was sent; `undefined` if the elector knows it already. */
  get unreportedAt(): Instant | undefined {
    const { nonce } = this.record;
    return nonce === this.#reportedNonce ? undefined : this.#sent.get(nonce);
  }

  /** Notes that the elector knows the nonce in the store. Writes sent before that nonce was written can no longer succeed. */
  report(): void {
    const { nonce } = this.record;
    this.#reportedNonce = nonce;
    for (const earlier of this.#sent.keys()) if (earlier !== nonce) this.#sent.delete(earlier);
  }

  /** Notes that a release with this nonce is about to be sent. */
  releasing(nonce: string): void {
    this.#releases = [...this.#releases, nonce];
  }

  /** Reports whether a release whose outcome was unknown wrote this record. */
  isRelease({ nonce }: LeaseRecord): boolean {
    return this.#releases.includes(nonce);
  }

  /** Notes that the outcome of all releases is known. */
  resolveReleases(): void {
    this.#releases = [];
  }
}
