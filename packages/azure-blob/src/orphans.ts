import { type Clock, ExpiringMap } from "@leasehold/core/provider";
import type { BlobRequests, CallLimits } from "./requests.ts";
import type { ObservedBlob } from "./observed-blob.ts";

/** A lease without a leader. The service may have granted it to a request that was given up, or may still do so. */
export interface Orphan {
  readonly leaseId: string;
  /** The term that the blob named before. */
  readonly term: number;
  /** The terms that were, or may have been, written under the lease. */
  readonly termIds: readonly string[];
  /** The instant at which the lease has run out, by the monotonic clock, if it was granted at all. */
  readonly untilMs: number;
}

/**
 * The leases that this process has orphaned. Each would block every candidate until it ran out, so it is freed as soon as a read
 * shows it.
 */
export class Orphans {
  readonly #clock: Clock;
  readonly #requests: BlobRequests;
  readonly #byElection: ExpiringMap<readonly Orphan[]>;

  constructor(clock: Clock, requests: BlobRequests) {
    this.#clock = clock;
    this.#requests = requests;
    this.#byElection = new ExpiringMap(clock);
  }

  /** Remembers an orphan, so that it is freed when a read finds it. */
  add(election: string, orphan: Orphan): void {
    const known = this.#of(election);
    if (known.some(({ leaseId }) => leaseId === orphan.leaseId)) return;
    this.#byElection.set(election, [...known, orphan]);
  }

  /** Frees an orphan now. If that fails, it is freed as soon as a read finds it. */
  async free(election: string, orphan: Orphan, limits: CallLimits): Promise<void> {
    this.add(election, orphan);
    await this.#free(election, orphan, limits);
  }

  /** Frees the orphan whose lease this read may show. Returns whether one was freed. */
  async freeSeen(election: string, { term, leasedSinceMs }: ObservedBlob, limits: CallLimits): Promise<boolean> {
    for (const orphan of this.#of(election)) {
      // If another candidate's newer term is written and not known to be over, the lease is that candidate's.
      const canBe = leasedSinceMs === undefined || term.term <= orphan.term || orphan.termIds.includes(term.termId ?? "");
      if (canBe && (await this.#free(election, orphan, limits))) return true;
    }
    return false;
  }

  async #free(election: string, orphan: Orphan, limits: CallLimits): Promise<boolean> {
    const expired = this.#clock.monotonicMs() > orphan.untilMs;
    const freed =
      !expired &&
      (await this.#requests.release(election, orphan.leaseId, limits).then(
        () => true,
        () => false,
      ));
    if (expired || freed) this.#remove(election, orphan);
    return freed;
  }

  #of(election: string): readonly Orphan[] {
    return this.#byElection.get(election) ?? [];
  }

  #remove(election: string, orphan: Orphan): void {
    const left = this.#of(election).filter((other) => other !== orphan);
    if (left.length > 0) this.#byElection.set(election, left);
    else this.#byElection.delete(election);
  }
}
