import type { LeaseSnapshot } from "./lease-snapshot.ts";
import type { AcquireOutcome, RequestLimits } from "./lease-store.ts";

export interface JoinOptions {
  /** Its abort ends `turns()` and every wait in it. It cuts short neither `acquire` nor `leave`. */
  readonly signal: AbortSignal;
}

/**
 * The place of one candidate in the queue of an election. A candidate waits only for the places before its own. `join` sends
 * nothing: the first `turns()` takes the place. A place ends by `leave()`, by becoming a lease, or by itself once the candidate
 * is gone for a lease's duration.
 *
 * A place is _void_ for good if its session has expired or was revoked, or if a later place has led. Then `turns()` ends and
 * `acquire()` does not acquire. A candidate that still wants to lead leaves the place, and joins again at the end.
 *
 * A failure is thrown, and does not make a place void: the next `turns()` goes on with it. The call first reads whether the
 * request that took the place has arrived. While a place stands, `read` may show this candidate's own waiting place, so base no
 * decision on it.
 */
export interface Place {
  /**
   * Takes the place if it is not taken yet, and yields the state of the election. Yields again at each change, and at least once
   * every `renewIntervalMs` of the request, while the service answers. Each snapshot is a fresh, linearizable read. It proves
   * that the place stands, and that the service takes this candidate's writes.
   *
   * A snapshot without a `bar` means that it is this place's turn. The snapshot's state is `vacant`. Its term is the last known
   * one in which a candidate led, and is no higher than the place's own. It is yielded again at the same rhythm until the place
   * has acquired. All later places wait meanwhile, so a candidate that does not want to lead now has to leave. A snapshot with a
   * `bar` says who leads.
   *
   * Ends when the place is void or has acquired, or once the signal has aborted. Only one iteration may run at a time.
   * @throws {StoreError} for a failure of the service; call it again, after a wait.
   * @throws {TermRegressedError} if the place's term would not be above `aboveTerm` of the request, or would be below its
   *   `minTerm`. Also if the service has gone back. Leave the place then: a later place may get a higher term.
   * @throws {ForeignRecordError} {UnsupportedError} {ConfigurationError} as `acquire` of the store does. Leave it then, too.
   */
  turns(): AsyncIterable<LeaseSnapshot>;

  /**
   * One attempt to acquire the lease by this place, which then becomes the lease. The lease counts from before the request that
   * the service confirms. Does not acquire if it is not this place's turn, or if the place is void. A call that throws has not
   * acquired, and the place stands if it stood before. Takes at most `timeoutMs` of the request, as a whole.
   * @throws as `turns`.
   */
  acquire(): Promise<AcquireOutcome>;

  /**
   * Ends the place. Even if the request fails, the store does nothing more to keep it: it is gone within a lease, and never
   * acquires. Once it is known to be gone, another call sends nothing. Does nothing to a place that has acquired: release that
   * lease. Call it when no `acquire` is under way. Takes at most `timeoutMs`, as a whole.
   * @throws {StoreError} if the place may still exist; another call tries again.
   */
  leave(limits: RequestLimits): Promise<void>;
}
