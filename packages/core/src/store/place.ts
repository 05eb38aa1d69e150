import type { LeaseSnapshot } from "./lease-snapshot.ts";
import type { AcquireOutcome, RequestLimits } from "./lease-store.ts";

export interface JoinOptions {
  /** Its abort ends `turns()`, and what that is waiting for. It cuts neither `acquire` nor `leave` short. */
  readonly signal: AbortSignal;
}

/**
 * The place of one candidate in the queue of an election. Those who come first have their turn first, and wait for those before
 * them only. `join` itself sends nothing: the place is taken by the first `turns()`, is kept by the store without being asked,
 * and ends by `leave()`, by itself where the candidate is gone for a lease, or by becoming a lease.
 *
 * A place is _void_ for good once it cannot lead any more: it is gone from the queue (its session has expired or was revoked),
 * or it was passed over: a later place has led. Then `turns()` ends and `acquire()` does not acquire. Who still wants to lead
 * leaves it, and joins again, at the end.
 *
 * As with any call of a store, a failure is thrown, and nothing is retried. A failure does not make a place void: the next
 * `turns()` goes on with it, having resolved by reading what is not known of the request that took it.
 *
 * While a place stands, `read` may show this candidate's own waiting, and decides nothing.
 */
export interface Place {
  /**
   * Takes the place if that is still to do, and yields the election as it is; then anew whenever it changes, and at least once
   * every `renewIntervalMs` of the request, while the service answers. Each snapshot is a fresh, linearizable reading, and proves
   * that the place stands and that the service takes this candidate's writes.
   *
   * A snapshot without a `bar` says that it is this place's turn: `vacant`, with the last term that was led in as far as is
   * known, which is no higher than the place's own. It is yielded again at the same rhythm until the place has acquired. Meanwhile
   * everybody behind it waits: who does not want to lead now, leaves. A snapshot with a `bar` tells who leads.
   *
   * Ends when the place is void or has acquired, or once the signal has aborted. There is one iteration at a time.
   * @throws {StoreError} for a failure of the service; call it again, after a wait.
   * @throws {TermRegressedError} where the place's term would not be above `aboveTerm` of the request, or would be below its
   *   `minTerm`, or where the service has gone back; {ForeignRecordError}, {UnsupportedError} and {ConfigurationError} as
   *   `acquire` of the store does. Leave the place then: a later one may do better.
   */
  turns(): AsyncIterable<LeaseSnapshot>;

  /**
   * One attempt to acquire the lease by this place: confirmed by the service, from before whose request the lease is counted. A
   * place that has acquired has become the lease, and ends as that does. Does not acquire where it is not this place's
   * turn, or the place is void. What throws has not acquired, and the place stands if it stood before.
   *
   * Takes at most `timeoutMs` of the request, as a whole.
   * @throws as `turns`.
   */
  acquire(): Promise<AcquireOutcome>;

  /**
   * Ends the place. Whatever comes of it, the store does nothing more to keep the place, so that it is gone within a lease, and
   * it never acquires any more. Once it is known to be gone, or if it was never taken, leaving it again sends nothing. Of one that
   * has acquired it does nothing: that is to be released. Called when no `acquire` is under way.
   *
   * Takes at most `timeoutMs`, as a whole.
   * @throws {StoreError} if it is not known to be gone; calling it again tries again.
   */
  leave(limits: RequestLimits): Promise<void>;
}
