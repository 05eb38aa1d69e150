import type { Instant } from "../time/clock.ts";
import type { LeaseRecord } from "./record-store.ts";

/** A record as it was last found in the store, or written there. */
export interface Found {
  readonly record: LeaseRecord;
  readonly version: string;
}

/**
 * The facts that the holder of a lease remembers of it, beyond those that it shows: the record as it was last known, and the
 * writes whose outcome may still be unknown. Each of those was conditional on that record's version, so at most one of them
 * arrives, and none once the version has passed.
 */
export class Holding implements Found {
  #found: Found;
  /** The instant at which each nonce was sent that may still be found in the store. */
  readonly #sent: Map<string, Instant>;
  /** The nonce whose send time the elector knows. */
  #reportedNonce: string;
  /** The nonces of releases whose outcome is not known: one of them in the store means that it has arrived. */
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

  /** A condition has failed: no write can succeed before it is known what is there now. */
  get overtaken(): boolean {
    return this.#overtaken;
  }

  overtake(): void {
    this.#overtaken = true;
  }

  /** This is what the store holds, and it is ours. */
  take(found: Found): void {
    this.#found = found;
    this.#overtaken = false;
  }

  /** A write with this nonce is about to be sent. */
  sending(nonce: string, sentAt: Instant): void {
    this.#sent.set(nonce, sentAt);
  }

  /** Returns the instant at which the nonce in the store was sent, unless the elector knows it already. */
  get unreportedAt(): Instant | undefined {
    const { nonce } = this.record;
    return nonce === this.#reportedNonce ? undefined : this.#sent.get(nonce);
  }

  /** The elector gets to know the nonce in the store. Writes sent before it was made can no longer succeed. */
  report(): void {
    const { nonce } = this.record;
    this.#reportedNonce = nonce;
    for (const earlier of this.#sent.keys()) if (earlier !== nonce) this.#sent.delete(earlier);
  }

  /** A release with this nonce is about to be sent. */
  releasing(nonce: string): void {
    this.#releases = [...this.#releases, nonce];
  }

  /** Reports whether this record is that of a release whose outcome was not known. */
  isRelease({ nonce }: LeaseRecord): boolean {
    return this.#releases.includes(nonce);
  }

  /** From here on the outcome of all releases is known. */
  resolveReleases(): void {
    this.#releases = [];
  }
}
