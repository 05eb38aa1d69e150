import { ConfigurationError, StoreError } from "@leasehold/core";
import { StoreWarnings, type Clock } from "@leasehold/core/provider";
import { ConditionProof } from "./condition-proof.ts";
import { Keys } from "./keys.ts";
import type { BucketSigns, ObjectService } from "./object-service.ts";

const REPLICA =
  "its objects are replicas of another bucket, where other candidates may lead. Use a bucket that is not a replication destination.";

/** A bucket, and what one lease store has learned about it from replies. The store's leases and occurrences share this. */
export class Bucket {
  readonly service: ObjectService;
  readonly keys: Keys;
  readonly warnings: StoreWarnings = new StoreWarnings();
  readonly proof: ConditionProof;
  readonly #name: string;
  #isReplica = false;
  /** The last reply's warning about a lifecycle rule that deletes leases; `undefined` if there is none. */
  #rule: string | undefined;

  constructor(service: ObjectService, name: string, prefix: string, clock: Clock) {
    this.service = service;
    this.#name = name;
    this.keys = new Keys(prefix);
    this.proof = new ConditionProof(service, this.keys.probe, clock);
  }

  /** Waits until the service is proven to keep conditions, or the signal aborts. No record is written before the proof. */
  async waitUntilProven(election: string, signal: AbortSignal): Promise<void> {
    if (!this.proof.isDone) await this.proof.wait(election, signal);
  }

  /**
   * @param acquires true for the write that makes a candidate the leader. Other writes ignore a lifecycle rule: each renewal
   * makes the object young again, so the rule does not delete it.
   * @throws {ConfigurationError} if a reply has shown that the bucket is a replica.
   * @throws {StoreError} `STORE_REJECTED` for an acquisition, if the last reply has shown a lifecycle rule that deletes leases.
   */
  assertWritable(election: string, acquires: boolean): void {
    if (this.#isReplica) throw new ConfigurationError(`The bucket '${this.#name}' cannot hold leases: ${REPLICA}`, { election });
    if (!acquires || this.#rule === undefined) return;
    const store = this.service.name;
    const details = { store, operation: "put", election, mayHaveBeenApplied: false };
    throw new StoreError("STORE_REJECTED", `${store}: ${this.#rule} Until then no new leader is elected.`, details);
  }

  /** Records what a reply shows about the bucket. A lifecycle rule may delete an occurrence, but never a lease. */
  saw({ expiration, isReplica, isVersioned }: BucketSigns, isLease: boolean): void {
    if (isReplica === true) this.#isReplica = true;
    if (isLease) {
      this.#rule =
        expiration &&
        `a lifecycle rule deletes leases of the bucket '${this.#name}', and terms must not be lost (${expiration}). Limit the rule to another prefix, such as ${this.keys.ticks}.`;
      if (this.#rule !== undefined) {
        this.warnings.warnOnce(
          "LEASEHOLD_STORE_SETTINGS",
          `lifecycle ${this.service.name} ${this.#name}`,
          `${this.service.name}: ${this.#rule}`,
        );
      }
    }
    if (isVersioned !== true) return;
    this.warnings.warnOnce(
      "LEASEHOLD_STORE_SETTINGS",
      `versions ${this.#name}`,
      `${this.service.name}: the bucket '${this.#name}' keeps every version of an object, 6 million a year of each lease. Delete noncurrent versions after a day by a lifecycle rule for the prefix '${this.keys.prefix}', and never current ones.`,
    );
  }
}
