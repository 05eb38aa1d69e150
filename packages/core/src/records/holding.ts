import type { Instant } from "../time/clock.ts";
import type { LeaseRecord } from "./record-store.ts";

/** A record as it was last found or written. */
export interface Found {
  readonly record: LeaseRecord;
  readonly version: string;
}

/** A holder's last known record, and its writes of unknown outcome, all on that version. So at most one takes effect. */
export class Holding implements Found {
  record: LeaseRecord;
  version: string;
  /** True once a condition has failed: no write can succeed before the present record is known. */
  overtaken = false;
  /** The send times of the nonces that may still be found in the store. */
  readonly sent: Map<string, Instant>;
  /** The nonces of releases whose outcome is unknown. */
  releases: readonly string[] = [];
  /** The nonce whose send time the elector knows. */
  #reportedNonce: string;

  constructor({ record, version }: Found, grantedAt: Instant) {
    this.record = record;
    this.version = version;
    this.#reportedNonce = record.nonce;
    this.sent = new Map([[record.nonce, grantedAt]]);
  }

  take({ record, version }: Found): void {
    this.record = record;
    this.version = version;
    this.overtaken = false;
  }

  /** The send time of the nonce in the store; `undefined` if the elector knows it already. */
  get unreportedAt(): Instant | undefined {
    const { nonce } = this.record;
    return nonce === this.#reportedNonce ? undefined : this.sent.get(nonce);
  }

  /** Notes that the elector knows the nonce in the store. Earlier writes can no longer succeed. */
  report(): void {
    const { nonce } = this.record;
    this.#reportedNonce = nonce;
    for (const earlier of this.sent.keys()) if (earlier !== nonce) this.sent.delete(earlier);
  }
}
