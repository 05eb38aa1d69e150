import type { Instant } from "../time/clock.ts";
import type { LeaseRecord } from "./record-store.ts";

/** A record as it was last found or written. */
export interface Found {
  readonly record: LeaseRecord;
  readonly version: string;
}

/** A holder's last known record, and its writes of unknown outcome, all on that version. So at most one takes effect. */
export class Holding implements Found {
  #found: Found;
  /** The send times of the nonces that may still be found in the store. */
  readonly #sent: Map<string, Instant>;
  /** The nonce whose send time the elector knows. */
  #reportedNonce: string;
  /** The nonces of releases whose outcome is unknown. */
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

  take(found: Found): void {
    this.#found = found;
    this.#overtaken = false;
  }

  sending(nonce: string, sentAt: Instant): void {
    this.#sent.set(nonce, sentAt);
  }

  /** The send time of the nonce in the store; `undefined` if the elector knows it already. */
  get unreportedAt(): Instant | undefined {
    const { nonce } = this.record;
    return nonce === this.#reportedNonce ? undefined : this.#sent.get(nonce);
  }

  /** Notes that the elector knows the nonce in the store. Earlier writes can no longer succeed. */
  report(): void {
    const { nonce } = this.record;
    this.#reportedNonce = nonce;
    for (const earlier of this.#sent.keys()) if (earlier !== nonce) this.#sent.delete(earlier);
  }

  releasing(nonce: string): void {
    this.#releases = [...this.#releases, nonce];
  }

  isRelease({ nonce }: LeaseRecord): boolean {
    return this.#releases.includes(nonce);
  }

  resolveReleases(): void {
    this.#releases = [];
  }
}
