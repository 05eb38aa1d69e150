import { isLeaseholdError } from "../reporting/errors.ts";
import type { CompleteOptions, Lease, LeaseStore, OccurrenceStore, RenewOutcome, RequestLimits } from "../store/lease-store.ts";
import type { Clock } from "../time/clock.ts";
import { publishRenewal } from "./elector-channels.ts";
import { releaseInTime } from "./release.ts";

type Options = { readonly clock: Clock; readonly store: LeaseStore; readonly lease: Lease };

/** The requests of one term. They are sent one at a time, so that no late renewal can follow a release. */
export class TermRequests {
  readonly #options: Options;
  #requests: Promise<unknown> = Promise.resolve();
  #publications: Promise<unknown> = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
  }

  inTurn<T>(request: () => Promise<T>): Promise<T> {
    const result = this.#requests.then(request);
    this.#requests = result.catch(() => undefined);
    return result;
  }

  /** As `inTurn`. A publication queues only after the publication before it, so a renewal waits for one publication at most. */
  publicationInTurn<T>(publication: () => Promise<T>): Promise<T> {
    const result = this.#publications.then(() => this.inTurn(publication));
    this.#publications = result.catch(() => undefined);
    return result;
  }

  async renew(limits: RequestLimits): Promise<RenewOutcome> {
    const { clock, store, lease } = this.#options;
    const { election, candidateId, term } = lease;
    const sentMs = clock.monotonicMs();
    const publish = (outcome: string): void =>
      publishRenewal(() => ({ election, candidateId, term, durationMs: clock.monotonicMs() - sentMs, outcome }));
    try {
      const renewed = await store.renew(lease, limits);
      publish(renewed.held ? "ok" : renewed.reason);
      return renewed;
    } catch (error) {
      publish(isLeaseholdError(error) ? error.code : "ERROR");
      throw error;
    }
  }

  /** Releases the lease in turn. Returns whether it is released. @param timeoutMs gives the time limit when the turn comes. */
  release(holdMs: number, timeoutMs: () => number): Promise<boolean> {
    const { clock, store, lease } = this.#options;
    const send = (limits: RequestLimits) => store.release(lease, { ...limits, ...(holdMs > 0 ? { holdMs } : {}) });
    return this.inTurn(() => releaseInTime({ clock, timeoutMs, send }));
  }

  /** Records in turn that an occurrence is done. Returns false if another candidate has taken it over. */
  complete(store: OccurrenceStore, timeoutMs: number, completion?: CompleteOptions["completion"]): Promise<boolean> {
    const { clock, lease } = this.#options;
    const send = (limits: RequestLimits) => store.complete(lease, { ...limits, ...(completion ? { completion } : {}) });
    return this.inTurn(() => releaseInTime({ clock, timeoutMs: () => timeoutMs, send }));
  }
}

/** Reports whether a term on this store can be completed, once and for good. */
export function canComplete(store: LeaseStore): store is OccurrenceStore {
  return typeof (store as Partial<OccurrenceStore>).complete === "function";
}
