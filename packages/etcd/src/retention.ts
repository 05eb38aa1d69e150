import type { Clock } from "@leasehold/core/provider";
import { leaseNumber, randomLease } from "./keys.ts";
import type { EtcdRequests } from "./requests.ts";

/** All writes share one lease during this part of the retention, so that few leases exist at a time. */
const SHARED = 1 / 16;

/**
 * Grants the leases on which occurrences are kept. etcd deletes an occurrence some time after the retention has passed since its
 * last write.
 */
export class Retention {
  readonly #requests: EtcdRequests;
  readonly #clock: Clock;
  readonly #retentionMs: number;
  #last: { readonly lease: string; readonly untilMs: number } | undefined;

  constructor(requests: EtcdRequests, clock: Clock, retentionMs: number) {
    this.#requests = requests;
    this.#clock = clock;
    this.#retentionMs = retentionMs;
  }

  /** Returns a lease, as decimal digits, that lasts for at least the retention. */
  async lease(election: string, signal: AbortSignal): Promise<string> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#last && nowMs < this.#last.untilMs) return this.#last.lease;
    const lease = leaseNumber(randomLease(this.#clock.randomUuid()));
    const sharedMs = this.#retentionMs * SHARED;
    await this.#requests.grantNow(election, lease, Math.ceil((this.#retentionMs + sharedMs) / 1_000), signal);
    this.#last = { lease, untilMs: nowMs + sharedMs };
    return lease;
  }

  forget(): void {
    this.#last = undefined;
  }
}
