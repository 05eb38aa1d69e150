import { mayAcquire } from "../store/blocker.ts";
import { holderElapsedMs, type Clock } from "../time/clock.ts";
import type { ElectorOptions } from "./elector-options.ts";
import { isStoreFailure, TermRegressedError } from "../reporting/errors.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { AcquireOutcome, AcquireRequest, Expiry, Lease, LeaseStore, RequestLimits } from "../store/lease-store.ts";
import type { Place } from "../store/place.ts";
import { RolledBackTerms } from "./rolled-back-terms.ts";
import { highestTermLed, highestTermSeen, noteTerm, noteTermLed } from "./seen-terms.ts";
import { releaseInTime } from "./release.ts";
import type { RequestKind, StoreContact } from "./store-contact.ts";
import type { Timing } from "./timing.ts";

export interface CandidacyOptions {
  readonly clock: Clock;
  readonly store: LeaseStore;
  readonly contact: StoreContact;
  readonly election: string;
  readonly candidateId: string;
  readonly wishes: Pick<ElectorOptions, "value" | "minTerm" | "reservation">;
  readonly timing: Timing;
  /** Called with the snapshot of each look and of each failed attempt. */
  readonly onSeen: (snapshot: LeaseSnapshot | undefined) => void;
  readonly onReleaseFailed: (term: number, error: unknown) => void;
}

/** A store that has a queue. */
export type Queue = Required<Pick<LeaseStore, "join">>;

/** One candidate before the store: it looks once, tries once, and gives back what it won too late. */
export class Candidacy {
  readonly contact: StoreContact;
  readonly #options: CandidacyOptions;
  /** The highest term that this candidate has seen, for as long as it lives. */
  #highest = 0;
  /** The highest that it has led. */
  #led = 0;
  /** The term that it was shown last. */
  #shown = 0;
  readonly #rolledBack: RolledBackTerms;

  constructor(options: CandidacyOptions) {
    this.#options = options;
    this.contact = options.contact;
    this.#rolledBack = new RolledBackTerms(options.clock, options.timing.leaseDurationMs);
  }

  /** @throws {TermRegressedError} for a term below one that this process has seen. */
  async look(expiry: Expiry | undefined, signal: AbortSignal): Promise<LeaseSnapshot | undefined> {
    const { store, election, timing } = this.#options;
    // Only a term seen before this look was asked for must show in it: looks overtake one another.
    const highest = this.#highestSeen();
    const reading = { timeoutMs: timing.attemptTimeoutMs, signal, expiry, knownTerm: highest };
    return this.#checked(await this.#ask("read", () => store.read(election, reading), signal), highest);
  }

  /** Takes in what a look or a push has shown. */
  learn(snapshot: LeaseSnapshot | undefined): LeaseSnapshot | undefined {
    this.#shown = snapshot?.term ?? 0;
    this.#rolledBack.saw(snapshot, this.#shown < this.#highestSeen());
    this.#note(snapshot?.term ?? 0);
    this.#options.onSeen(snapshot);
    return snapshot;
  }

  /** Reports whether an attempt can succeed, as far as can be seen; or is of use to those who come later. */
  mayTry(snapshot: LeaseSnapshot | undefined): boolean {
    const { candidateId, wishes } = this.#options;
    if (this.#mayBeRolledBack(snapshot?.term ?? 0) && !this.#rolledBack.isOver) return false;
    return snapshot?.undated ?? mayAcquire(snapshot, candidateId, wishes.reservation?.group);
  }

  /** One attempt to acquire. A win that comes too late is released at once. */
  async attempt(expiry: Expiry | undefined): Promise<Lease | undefined> {
    // Not given a signal: once it is sent, only its answer tells whether there is anything to release.
    return await this.#acquire(() => this.#options.store.acquire(this.#request(expiry)));
  }

  /** A place in the store's queue. Nothing is sent before its turns are asked for. */
  join(queue: Queue, signal: AbortSignal): Place {
    return queue.join(this.#request(undefined), { signal });
  }

  /** Takes in what a place shows. The place stands: the store has carried out a write for that. */
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

  /** One attempt to acquire by a place. As `attempt`. */
  async acquire(place: Place): Promise<Lease | undefined> {
    return await this.#acquire(() => place.acquire());
  }

  /** Gives a place up. Never rejects: what is not known to be left ends by itself. */
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

  /**
   * Proves that this process may write: who finds another leading would else learn only at the takeover that it may not.
   */
  async prove(signal: AbortSignal): Promise<void> {
    const { store, election, timing } = this.#options;
    const check = { election, timeoutMs: timing.attemptTimeoutMs, signal };
    await this.contact.prove(() => this.#ask("write", () => store.check(check), signal));
  }

  /** Releases a lease on which nobody is to lead: won too late, or after the signal aborted. */
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

  /** Takes in that a lease was won. Returns it, unless that is too late. */
  async #inTime(lease: Lease): Promise<Lease | undefined> {
    const { clock, timing } = this.#options;
    this.contact.answered("write");
    // A later term may have begun since the request was made. Its own may have been seen: some stores show whose turn it is.
    const isPassedOver = lease.term < this.#highestSeen();
    this.#note(lease.term);
    this.#led = Math.max(this.#led, lease.term);
    noteTermLed(this.#options.store, this.#options.election, lease.term);
    if (!isPassedOver && holderElapsedMs(clock, lease.grantedAt) < timing.renewDeadlineMs) return lease;
    await this.giveBack(lease);
    return undefined;
  }

  /** Takes in what a look has shown, which must not be less than what had been seen before it was asked for. */
  #checked(snapshot: LeaseSnapshot | undefined, highest: number): LeaseSnapshot | undefined {
    const { election, wishes } = this.#options;
    this.learn(snapshot);
    const term = snapshot?.term ?? 0;
    if (this.#mayBeRolledBack(term)) return snapshot;
    if (term < highest && (wishes.minTerm ?? 0) <= highest) throw new TermRegressedError(election, term, highest);
    return snapshot;
  }

  /** Sends a request, and notes how the store took it. What was not acquired may have been read only. */
  async #ask<T>(kind: RequestKind, request: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const answer = await this.#send(kind, request, signal);
    this.contact.answered("read");
    return answer;
  }

  async #send<T>(kind: RequestKind, request: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await request();
    } catch (error) {
      this.#failed(kind, error, signal);
      throw error;
    }
  }

  #failed(kind: RequestKind, error: unknown, signal?: AbortSignal): void {
    if (isStoreFailure(error) && !signal?.aborted) this.contact.failed(kind, error);
  }

  /**
   * Reports whether a failover may have undone the terms above this one: the store may show what is not durable, and no elector of
   * this process has led any of them.
   */
  #mayBeRolledBack(term: number): boolean {
    const { store, election } = this.#options;
    const led = Math.max(this.#led, highestTermLed(store, election));
    return store.capabilities.showsUndurable === true && term < this.#highestSeen() && led <= term;
  }

  /** Others of this process may have seen more, lately. */
  #highestSeen(): number {
    return Math.max(this.#highest, highestTermSeen(this.#options.store, this.#options.election));
  }

  #note(term: number): void {
    this.#highest = Math.max(this.#highest, term);
    noteTerm(this.#options.store, this.#options.election, term);
  }
}
