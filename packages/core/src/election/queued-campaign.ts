import { isOutage } from "../reporting/errors.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { Lease, LeaseStore } from "../store/lease-store.ts";
import type { Place } from "../store/place.ts";
import { sleep } from "../time/clock.ts";
import type { Queue } from "./candidate-requests.ts";
import type { CampaignOptions } from "./campaign.ts";
import { PollRateLimit } from "./poll-timer.ts";
import { backoffMs, pollPeriodMs } from "./campaign-backoff.ts";

/** Gets the lease by a position in the store's queue. It keeps the position only while it would lead when its turn comes. */
export class QueuedCampaign {
  readonly #options: CampaignOptions;
  readonly #queue: Queue;
  readonly #signal: AbortSignal;
  /** Limits how often positions are taken and attempts are made, whatever the store returns. */
  readonly #pace: PollRateLimit;
  #place: Place | undefined;
  /** The last instant at which the position was known to block no other candidate, by the monotonic clock. */
  #harmlessMs = 0;
  /** True if a failure other than an outage ended the last position. */
  #isRefused = false;

  constructor(options: CampaignOptions, queue: Queue, signal: AbortSignal) {
    this.#options = options;
    this.#queue = queue;
    this.#signal = signal;
    this.#pace = new PollRateLimit(options.clock, options.timing);
  }

  /** As `win` of `Campaign`. No position is left behind in any case. */
  async win(): Promise<Lease | undefined> {
    try {
      for (;;) {
        const lease = await this.#step().catch((error: unknown) => this.#failed(error));
        if (lease) {
          this.#place = undefined;
          return lease;
        }
        if (this.#signal.aborted) return undefined;
      }
    } finally {
      await this.#leave();
    }
  }

  async #step(): Promise<Lease | undefined> {
    const { candidacy, clock, expiry } = this.#options;
    if (!this.#place) {
      await this.#coolDown();
      await this.#keepPace();
      // After a refusal, read first. A refused read saves the write, which all candidates would observe.
      if (this.#isRefused) await candidacy.read(expiry, this.#signal);
      this.#isRefused = false;
      this.#place = candidacy.join(this.#queue, this.#signal);
      this.#harmlessMs = clock.monotonicMs();
    }
    for await (const snapshot of candidacy.turns(this.#place, this.#signal)) {
      if (!candidacy.mayTry(snapshot)) {
        this.#harmlessMs = clock.monotonicMs();
        continue;
      }
      await this.#keepPace();
      const lease = await candidacy.acquire(this.#place);
      if (lease) return lease;
    }
    await this.#leave();
    return undefined;
  }

  /** Waits until the cooldown is over. It polls meanwhile, because a newer term ends the cooldown sooner. */
  async #coolDown(): Promise<void> {
    const { candidacy, cooldown, clock, expiry } = this.#options;
    let snapshot: LeaseSnapshot | undefined;
    while (cooldown.leftMs(snapshot) > 0) {
      snapshot = await candidacy.read(expiry, this.#signal);
      await sleep(clock, Math.min(cooldown.leftMs(snapshot), pollPeriodMs(this.#options)), this.#signal);
    }
  }

  async #keepPace(): Promise<void> {
    const { waitMs } = this.#pace;
    if (waitMs > 0) await sleep(this.#options.clock, waitMs, this.#signal);
    this.#pace.spend();
  }

  async #failed(failure: unknown): Promise<undefined> {
    if (this.#signal.aborted) return;
    const { clock, timing } = this.#options;
    const waitMs = backoffMs(this.#options, failure);
    // An outage does not end the position. But a candidate that can neither lead nor let others pass leaves after a whole lease.
    const isStuck = clock.monotonicMs() - this.#harmlessMs >= timing.leaseDurationMs;
    this.#isRefused ||= !isOutage(failure);
    if (isStuck || this.#isRefused) await this.#leave();
    await sleep(clock, waitMs, this.#signal).catch(() => undefined);
  }

  async #leave(): Promise<void> {
    const place = this.#place;
    this.#place = undefined;
    if (place) await this.#options.candidacy.leave(place, this.#options.onStoreFailed);
  }
}

export function hasQueue(store: LeaseStore): store is LeaseStore & Queue {
  return store.join !== undefined;
}
