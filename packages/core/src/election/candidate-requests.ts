import { mayAcquire, type LeaseSnapshot } from "../store/lease-snapshot.ts";
import { holderElapsedMs } from "../time/clock.ts";
import type { ElectorParts } from "./elector-options.ts";
import { isLeaseholdError, isStoreFailure, TermRegressedError } from "../reporting/errors.ts";
import type { AcquireOutcome, AcquireRequest, Expiry, Lease, LeaseStore, RequestLimits } from "../store/lease-store.ts";
import type { Place } from "../store/place.ts";
import { RolledBackTerms, type SeenTerms } from "./seen-terms.ts";
import { releaseInTime } from "./release.ts";
import type { RequestKind, StoreHealth } from "./store-health.ts";
import { StoreShare } from "./store-share.ts";

export interface CandidateRequestsOptions extends ElectorParts {
  /** Called with the snapshot of each poll, of each push, and of each failed attempt that returned one. */
  readonly onSeen: (snapshot: LeaseSnapshot | undefined) => void;
  readonly onReleaseFailed: (term: number, error: unknown) => void;
}

export type Queue = Required<Pick<LeaseStore, "join">>;

export class CandidateRequests {
  readonly contact: StoreHealth;
  readonly #options: CandidateRequestsOptions;
  #highest = 0;
  #led = 0;
  #shown = 0;
  readonly #rolledBack: RolledBackTerms;
  /** Other electors of this process may have observed a higher term lately. */
  readonly #shared: SeenTerms;

  constructor(options: CandidateRequestsOptions) {
    this.#options = options;
    this.contact = options.contact;
    this.#shared = StoreShare.of(options.store, options.clock).terms;
    this.#rolledBack = new RolledBackTerms(options.clock, options.timing.leaseDurationMs);
  }

  /** Polls once. @throws {TermRegressedError} for a term below one that this process has observed. */
  async read(expiry: Expiry | undefined, signal: AbortSignal): Promise<LeaseSnapshot | undefined> {
    const { store, election, timing, wishes } = this.#options;
    // The reply need not show terms observed after the request was sent, because polls can overtake one another.
    const highest = this.#highestSeen();
    const reading = { timeoutMs: timing.attemptTimeoutMs, signal, expiry, knownTerm: highest };
    const snapshot = this.learn(await this.#ask("read", () => store.read(election, reading), signal));
    const term = snapshot?.term ?? 0;
    const isLower = term < highest && (wishes.minTerm ?? 0) <= highest && !this.#mayBeRolledBack(term);
    if (isLower) throw new TermRegressedError(election, term, highest);
    return snapshot;
  }

  learn(snapshot: LeaseSnapshot | undefined): LeaseSnapshot | undefined {
    this.#shown = snapshot?.term ?? 0;
    this.#rolledBack.saw(snapshot, this.#shown < this.#highestSeen());
    this.#note(snapshot?.term ?? 0);
    this.#options.onSeen(snapshot);
    return snapshot;
  }

  /** Reports whether an attempt may succeed. Also true if the age is unknown: the failed attempt then restarts the age. */
  mayTry(snapshot: LeaseSnapshot | undefined): boolean {
    const { candidateId, wishes } = this.#options;
    if (this.#mayBeRolledBack(snapshot?.term ?? 0) && !this.#rolledBack.isOver) return false;
    return snapshot?.ageUnknown ?? mayAcquire(snapshot, candidateId, wishes.reservation?.group);
  }

  /** Makes one attempt to acquire. A win that comes too late is released at once. */
  async attempt(expiry: Expiry | undefined): Promise<Lease | undefined> {
    // The request gets no signal. Once it is sent, only its reply shows if there is a lease to release.
    return await this.#acquire(() => this.#options.store.acquire(this.#request(expiry)));
  }

  /** Makes one attempt, without waiting. Makes another if the first soon fails on a kept connection that broke in a freeze. */
  async attemptNow(signal: AbortSignal): Promise<Lease | undefined> {
    const { clock, timing } = this.#options;
    const startMs = clock.monotonicMs();
    const { isWell } = this.contact;
    try {
      return await this.#readAndTry(signal);
    } catch (error) {
      const isSoon = clock.monotonicMs() - startMs < timing.attemptTimeoutMs;
      if (!isWell || !isSoon || signal.aborted || !isLeaseholdError(error, "STORE_UNAVAILABLE")) throw error;
      return await this.#readAndTry(signal);
    }
  }

  async #readAndTry(signal: AbortSignal): Promise<Lease | undefined> {
    const mayTry = this.mayTry(await this.read("store-clock", signal)) && !signal.aborted;
    return mayTry ? await this.attempt("store-clock") : undefined;
  }

  /** Returns a position in the store's queue. Nothing is sent before its `turns` are read. */
  join(queue: Queue, signal: AbortSignal): Place {
    return queue.join(this.#request(undefined), { signal });
  }

  /** Yields the states that a position returns. Each one proves the right to write. */
  async *turns(place: Place, signal: AbortSignal): AsyncGenerator<LeaseSnapshot, void, undefined> {
    try {
      for await (const snapshot of place.turns()) {
        this.contact.answered("write");
        this.learn(snapshot);
        yield snapshot;
      }
    } catch (error) {
      this.#failed("write", error, signal);
      throw error;
    }
  }

  async acquire(place: Place): Promise<Lease | undefined> {
    return await this.#acquire(() => place.acquire());
  }

  /** Gives a position up. Never rejects: if the request fails, the position expires by itself. */
  async leave(place: Place, onFailed: (error: unknown) => void): Promise<void> {
    const { clock, timing } = this.#options;
    const send = async (limits: RequestLimits): Promise<"released"> => {
      await place.leave(limits);
      return "released";
    };
    await releaseInTime({ clock, timeoutMs: () => timing.attemptTimeoutMs, send }).catch((error: unknown) => {
      this.#failed("write", error);
      onFailed(error);
    });
  }

  /** Proves that this process may write. Otherwise a standby would learn of missing rights only at a takeover. */
  async prove(signal: AbortSignal): Promise<void> {
    const { store, election, timing } = this.#options;
    const check = { election, timeoutMs: timing.attemptTimeoutMs, signal, settings: false };
    await this.contact.prove(() => this.#ask("write", () => store.check(check), signal));
  }

  /** Releases a lease on which this candidate must not lead: it was won too late, or after the signal aborted. */
  async giveBack(lease: Lease): Promise<void> {
    const { clock, store, timing } = this.#options;
    const { attemptTimeoutMs, validForMs } = timing;
    const timeoutMs = (): number => Math.min(attemptTimeoutMs, validForMs - holderElapsedMs(clock, lease.grantedAt));
    const isReleased = await releaseInTime({ clock, timeoutMs, send: (limits) => store.release(lease, limits) }).catch(
      (error: unknown) => {
        this.#options.onReleaseFailed(lease.term, error);
        return false;
      },
    );
    if (!isReleased) store.forget?.(lease);
  }

  #request(expiry: Expiry | undefined): AcquireRequest {
    const { election, candidateId, wishes, timing } = this.#options;
    const { leaseDurationMs, renewIntervalMs, attemptTimeoutMs } = timing;
    const highest = this.#highestSeen();
    const isWaitedOut = this.#mayBeRolledBack(this.#shown) && this.#rolledBack.isWaitedOut;
    return {
      election,
      candidateId,
      value: wishes.value,
      leaseDurationMs,
      renewIntervalMs,
      minTerm: isWaitedOut ? Math.max(highest + 1, wishes.minTerm ?? 0) : wishes.minTerm,
      aboveTerm: highest,
      expiry,
      reservation: wishes.reservation,
      timeoutMs: attemptTimeoutMs,
    };
  }

  async #acquire(attempt: () => Promise<AcquireOutcome>): Promise<Lease | undefined> {
    const outcome = await this.#ask("write", attempt);
    if (!outcome.acquired) {
      if (outcome.current) this.learn(outcome.current);
      return undefined;
    }
    return await this.#inTime(outcome.lease);
  }

  async #inTime(lease: Lease): Promise<Lease | undefined> {
    const { clock, timing } = this.#options;
    this.contact.answered("write");
    // A later term may have begun since the send. An equal term is not later: some stores show a term before it is won.
    const isPassedOver = lease.term < this.#highestSeen();
    this.#note(lease.term);
    this.#led = Math.max(this.#led, lease.term);
    this.#shared.note(this.#options.election, lease.term, true);
    if (!isPassedOver && holderElapsedMs(clock, lease.grantedAt) < timing.renewDeadlineMs) return lease;
    await this.giveBack(lease);
    return undefined;
  }

  /** Records the outcome of a request. An answer proves only the right to read: a failed attempt may not have written. */
  async #ask<T>(kind: RequestKind, request: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      const answer = await request();
      this.contact.answered("read");
      return answer;
    } catch (error) {
      this.#failed(kind, error, signal);
      throw error;
    }
  }

  #failed(kind: RequestKind, error: unknown, signal?: AbortSignal): void {
    if (isStoreFailure(error) && !signal?.aborted) this.contact.failed(kind, error);
  }

  /** Reports whether a failover may have undone the terms above this one. A term that this process has led was durable. */
  #mayBeRolledBack(term: number): boolean {
    const { store, election } = this.#options;
    const led = Math.max(this.#led, this.#shared.highest(election).led);
    return store.capabilities.showsUndurable === true && term < this.#highestSeen() && led <= term;
  }

  #highestSeen(): number {
    return Math.max(this.#highest, this.#shared.highest(this.#options.election).seen);
  }

  #note(term: number): void {
    this.#highest = Math.max(this.#highest, term);
    this.#shared.note(this.#options.election, term);
  }
}
