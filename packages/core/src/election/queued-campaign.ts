import { isOutage } from "../reporting/errors.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { Lease, LeaseStore } from "../store/lease-store.ts";
import type { Place } from "../store/place.ts";
import { sleep } from "../time/clock.ts";
import type { Queue } from "./candidacy.ts";
import type { CampaignOptions } from "./campaign.ts";
import { LookPace } from "./look-pace.ts";
import { Setbacks } from "./setbacks.ts";

/**
 * One candidate's way to the lease by a place in the store's queue. A place is held only while this candidate would lead if
 * its turn came: one that does not move keeps everybody behind it waiting.
 */
export class QueuedCampaign {
  readonly #options: CampaignOptions;
  readonly #queue: Queue;
  readonly #signal: AbortSignal;
  readonly #setbacks: Setbacks;
  /** Of places taken and of attempts made, whatever the store shows. */
  readonly #pace: LookPace;
  #place: Place | undefined;
  /** The last instant at which the place was known to keep nobody waiting, by the monotonic clock. */
  #harmlessMs = 0;
  /** Something other than an outage has ended the last place. */
  #isRefused = false;

  constructor(options: CampaignOptions, queue: Queue, signal: AbortSignal) {
    this.#options = options;
    this.#queue = queue;
    this.#signal = signal;
    this.#setbacks = new Setbacks(options);
    this.#pace = new LookPace(options.clock, options.timing);
  }

  /**
   * Waits until the candidate has the lease. Returns `undefined` once the signal has aborted; it may still abort until the
   * caller goes on, who then gives the lease back. In either case no place is left behind.
   */
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

  /** Waits in one place until that has become the lease, or is void. */
  async #step(): Promise<Lease | undefined> {
    const { candidacy, clock, expiry } = this.#options;
    if (!this.#place) {
      await this.#standBack();
      await this.#keepPace();
      // A place is a write, which everybody sees come and go: none is taken in vain while a look meets the same.
      if (this.#isRefused) await candidacy.look(expiry, this.#signal);
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

  /** Waits until this candidate may compete, and looks meanwhile: a newer term ends it sooner. */
  async #standBack(): Promise<void> {
    const { candidacy, standingBack, clock, expiry } = this.#options;
    let snapshot: LeaseSnapshot | undefined;
    while (standingBack.leftMs(snapshot) > 0) {
      snapshot = await candidacy.look(expiry, this.#signal);
      await sleep(clock, Math.min(standingBack.leftMs(snapshot), this.#setbacks.periodMs), this.#signal);
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
    const waitMs = this.#setbacks.met(failure);
    // An outage costs nobody his place. But one in which this candidate can neither go on nor be let by blocks the others.
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
