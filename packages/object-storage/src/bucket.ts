import { ConfigurationError } from "@leasehold/core";
import { StoreWarnings, type Clock } from "@leasehold/core/provider";
import { ConditionProof } from "./condition-proof.ts";
import { Keys } from "./keys.ts";
import type { BucketSigns, ObjectService } from "./object-service.ts";

/** A bucket, and what one lease store has learned about it from replies. The store's leases and occurrences share this. */
export class Bucket {
  readonly service: ObjectService;
  readonly keys: Keys;
  readonly warnings: StoreWarnings = new StoreWarnings();
  readonly proof: ConditionProof;
  readonly #name: string;
  /** Why the bucket cannot hold leases. */
  #problem: string | undefined;

  constructor(service: ObjectService, name: string, prefix: string, clock: Clock) {
    this.service = service;
    this.#name = name;
    this.keys = new Keys(prefix);
    this.proof = new ConditionProof(service, this.keys.probe, clock);
  }

  /** Waits for the proof that the service keeps conditions, or for the signal. No record is written before. */
  async waitUntilProven(election: string, signal: AbortSignal): Promise<void> {
    if (!this.proof.isDone) await this.proof.wait(election, signal);
  }

  /** @throws {ConfigurationError} if a reply has shown that the bucket cannot hold leases. */
  assertUsable(election: string): void {
    if (this.#problem === undefined) return;
    throw new ConfigurationError(`The bucket '${this.#name}' cannot hold leases: ${this.#problem}`, { election });
  }

  /** Takes in what a reply shows of the bucket. A rule may delete an occurrence, but never a lease. */
  saw({ expiration, isReplica, isVersioned }: BucketSigns, isLease: boolean): void {
    if (isReplica === true) {
      this.#problem =
        "its objects are replicas of another bucket, where other candidates may lead. Use a bucket that is not a replication destination.";
    } else if (isLease) {
      const remedy = `Limit the rule to another prefix, such as ${this.keys.ticks}.`;
      this.#problem = expiration && `a lifecycle rule deletes them, and terms must not be lost (${expiration}). ${remedy}`;
    }
    if (isVersioned !== true) return;
    this.warnings.warnOnce(
      "LEASEHOLD_STORE_SETTINGS",
      `versions ${this.#name}`,
      `${this.service.name}: the bucket '${this.#name}' keeps every version of an object, 6 million a year of each lease. Delete noncurrent versions after a day by a lifecycle rule for the prefix '${this.keys.prefix}', and never current ones.`,
    );
  }
}
