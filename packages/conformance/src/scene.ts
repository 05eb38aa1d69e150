import assert from "node:assert/strict";
import {
  isLeaseholdError,
  systemClock,
  type Clock,
  type LeaseSnapshot,
  type LeaseStore,
  type ReadOptions,
  type StoreError,
} from "@leasehold/core";
import {
  mayAcquire,
  type AcquireOutcome,
  type AcquireRequest,
  type Lease,
  type RenewOutcome,
  type RequestLimits,
} from "@leasehold/core/provider";
import { eventLoopTurn, waitReally } from "./real-time.ts";
import { requestsDuring } from "./request-counter.ts";
import type { GuardedText, Place, Subject, UnreliableConnection } from "./subject.ts";

/** The longest that one request may take. */
const MAX_TIMEOUT_MS = 30_000;
/** How long a service may really take until everybody sees what it has done. */
const PATIENCE_MS = 20_000;
/** In how many steps a lease passes, where something is looked at all the while. */
export const STEPS_PER_LEASE = 20;
/** How many leases a long outage lasts: ten minutes at 15 seconds. */
const OUTAGE_LEASES = 40;

let scenes = 0;

/** How a promise ended. */
export type Ending<T> = { readonly value: T } | { readonly error: unknown };

/** The tools of one case: a place, an election of its own, and the steps that many cases have in common. */
export class Scene {
  readonly subject: Subject;
  readonly place: Place;
  /** Named like no other, so that its requests can be told apart. */
  readonly election: string;
  readonly leaseMs: number;
  /** How many operations, or leaderships, the cases of a thousand go through. */
  readonly rounds: number;
  /** Long enough for a lease that has not been renewed to have run out for everybody who watched. */
  readonly lapseMs: number;
  /** How long a long outage of the service lasts. */
  readonly outageMs: number;
  readonly limits: RequestLimits;

  constructor(subject: Subject, place: Place, caseId: string) {
    scenes += 1;
    this.subject = subject;
    this.place = place;
    this.election = `conformance-${caseId}-${scenes}`;
    this.leaseMs = subject.leaseMs;
    this.rounds = subject.rounds ?? 1_000;
    this.lapseMs = Math.ceil(subject.leaseMs * 1.2);
    this.outageMs = outageMsOf(subject);
    this.limits = { timeoutMs: Math.min(Math.floor(subject.leaseMs / 3), MAX_TIMEOUT_MS) };
  }

  /** The stores of `count` processes. */
  async connect(count: 1): Promise<[LeaseStore]>;
  async connect(count: 2): Promise<[LeaseStore, LeaseStore]>;
  async connect(count: 3): Promise<[LeaseStore, LeaseStore, LeaseStore]>;
  async connect(count: 4): Promise<[LeaseStore, LeaseStore, LeaseStore, LeaseStore]>;
  async connect(count: number): Promise<LeaseStore[]>;
  async connect(count: number): Promise<LeaseStore[]> {
    const stores: LeaseStore[] = [];
    for (let index = 0; index < count; index += 1) stores.push(await this.place.connect());
    return stores;
  }

  async connectUnreliably(): Promise<UnreliableConnection> {
    const connection = await this.place.connectUnreliably?.();
    assert.ok(connection, "the place has no connectUnreliably, and lacks.faults does not say why");
    return connection;
  }

  /** The clock by which the place's stores count. */
  get clock(): Clock {
    return this.place.clock ?? systemClock;
  }

  /** The store of one more process with clocks of its own. */
  async connectWith(clock: Clock): Promise<LeaseStore> {
    const store = await this.place.connectWith?.(clock);
    assert.ok(store, "the place has no connectWith, and lacks.clocks does not say why");
    return store;
  }

  /** The stores of `count` processes, and what cuts all of them off from the service, until it is disposed of. */
  async connectInterruptibly(
    count: number,
  ): Promise<{ readonly stores: readonly LeaseStore[]; readonly interrupt: () => Promise<AsyncDisposable> }> {
    if (!this.place.connectUnreliably) {
      const interrupt = async (): Promise<AsyncDisposable> => {
        const outage = await this.place.interrupt?.();
        assert.ok(outage, "the place has neither connectUnreliably nor interrupt, and lacks.outages does not say why");
        return outage;
      };
      return { stores: await this.connect(count), interrupt };
    }
    const { store, faults } = await this.connectUnreliably();
    const stores = [store];
    while (stores.length < count) stores.push((await this.connectUnreliably()).store);
    const interrupt = async (): Promise<AsyncDisposable> => {
      await faults.loseRequests();
      return { [Symbol.asyncDispose]: () => faults.heal() };
    };
    return { stores, interrupt };
  }

  /** A text that the store's fence guards. */
  async guard(): Promise<GuardedText> {
    const text = await this.place.guard?.();
    assert.ok(text, "the place has no guard, and lacks.fence does not say why");
    return text;
  }

  /** An acquisition as an elector asks for it. */
  asking(candidateId: string, options: Partial<AcquireRequest> = {}): AcquireRequest {
    const { election, leaseMs, limits } = this;
    return { election, candidateId, leaseDurationMs: leaseMs, renewIntervalMs: Math.floor(leaseMs / 3), ...limits, ...options };
  }

  async look(store: LeaseStore, options: ReadOptions = {}, election: string = this.election): Promise<LeaseSnapshot | undefined> {
    // A store that answers without waiting would let no other case run that is under way.
    await eventLoopTurn();
    return await store.read(election, { ...this.limits, ...options });
  }

  /** A look and an attempt, as a standby acquires. */
  async attempt(store: LeaseStore, candidateId: string, options: Partial<AcquireRequest> = {}): Promise<AcquireOutcome> {
    const { expiry } = options;
    const request = this.asking(candidateId, options);
    const seen = await this.look(store, { expiry }, request.election);
    const outcome = await store.acquire(request);
    // Where rivals judge for themselves, no attempt may succeed that a look has just given no reason for.
    if (store.capabilities.expiry === "observed" && !mayAcquire(seen, candidateId, options.reservation?.group)) {
      assert.equal(outcome.acquired, false, `'${candidateId}' acquired a lease that its own store calls '${seen?.state}'`);
    }
    return outcome;
  }

  /** Acquires, which must succeed. */
  async win(store: LeaseStore, candidateId: string, options: Partial<AcquireRequest> = {}): Promise<Lease> {
    const outcome = await this.attempt(store, candidateId, options);
    assert.ok(outcome.acquired, `'${candidateId}' should have acquired the lease; it was told ${JSON.stringify(outcome)}`);
    return outcome.lease;
  }

  /** Tries to acquire, which must not succeed. */
  async lose(store: LeaseStore, candidateId: string, options: Partial<AcquireRequest> = {}): Promise<void> {
    const outcome = await this.attempt(store, candidateId, options);
    assert.equal(outcome.acquired, false, `'${candidateId}' acquired a lease that it must not have`);
  }

  /** Somebody leads and leaves, so that there is a record, and it is vacant. Returns the term. */
  async leadOnce(store: LeaseStore): Promise<number> {
    const lease = await this.win(store, "earlier");
    assert.equal(await store.release(lease, this.limits), "released");
    return lease.term;
  }

  /** Renews, which must succeed. */
  async keep(store: LeaseStore, lease: Lease): Promise<Extract<RenewOutcome, { held: true }>> {
    const outcome = await store.renew(lease, this.limits);
    assert.ok(
      outcome.held,
      `the lease of term ${lease.term} should still be held; the holder was told ${JSON.stringify(outcome)}`,
    );
    return outcome;
  }

  /** Renews, which must show that the lease is lost. */
  async isLost(store: LeaseStore, lease: Lease): Promise<Extract<RenewOutcome, { held: false }>> {
    const outcome = await store.renew(lease, this.limits);
    assert.equal(outcome.held, false, `the lease of term ${lease.term} was renewed, though it is over`);
    return outcome as Extract<RenewOutcome, { held: false }>;
  }

  /** Frees the lease, which must succeed. */
  async leave(store: LeaseStore, lease: Lease): Promise<void> {
    assert.equal(await store.release(lease, this.limits), "released");
  }

  /**
   * Checks that a reader was told that nobody leads, as the store tells it after that term: a store that keeps no record tells
   * what this process has seen, or nothing.
   */
  isFree(seen: LeaseSnapshot | undefined, term: number): void {
    const { state, holder, value } = seen ?? {};
    if (this.keepsRecord) assert.deepEqual([state, seen?.term, holder, value], ["vacant", term, undefined, undefined]);
    else assert.deepEqual([state ?? "vacant", holder, value], ["vacant", undefined, undefined]);
    assert.ok((seen?.term ?? 0) <= term, `a free lease has term ${seen?.term}, and there was none above ${term}`);
  }

  /** The same after a lease that has run out, whose last holder is told where there is a record. */
  hasExpired(seen: LeaseSnapshot | undefined, { term, candidateId }: Lease): void {
    if (this.keepsRecord) assert.deepEqual([seen?.state, seen?.term, seen?.holder], ["expired", term, candidateId]);
    else this.isFree(seen, term);
  }

  /** See `record` of {@link Need}. */
  get keepsRecord(): boolean {
    return !("record" in (this.subject.lacks ?? {}));
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    await this.place.pass(Math.ceil(ms));
  }

  /**
   * Lets time pass until something has come about, a twentieth of a lease at a time.
   * @throws if it has not after `withinMs`.
   */
  async until(
    what: string,
    happened: () => boolean,
    withinMs: number,
    pass: (ms: number) => Promise<void> = async (ms) => await this.pass(ms),
  ): Promise<void> {
    const sinceMs = this.clock.monotonicMs();
    while (!happened()) {
      const passedMs = Math.round(this.clock.monotonicMs() - sinceMs);
      assert.ok(passedMs <= withinMs, `this has not come about after ${passedMs} ms: ${what}`);
      await pass(this.leaseMs / STEPS_PER_LEASE);
    }
  }

  /** Lets time pass until the promise has settled. @throws if it has not after `limitMs`. */
  async ending<T>(promise: Promise<T>, limitMs: number = 6 * this.limits.timeoutMs): Promise<Ending<T>> {
    let ending: Ending<T> | undefined;
    void promise.then(
      (value) => void (ending = { value }),
      (error: unknown) => void (ending = { error }),
    );
    const stepMs = Math.ceil(this.limits.timeoutMs / 10);
    for (let passedMs = 0; ; passedMs += stepMs) {
      await eventLoopTurn();
      if (ending === undefined) await waitReally(5);
      // Assigned by a callback, which the compiler does not see.
      const now = ending as Ending<T> | undefined;
      if (now) return now;
      assert.ok(passedMs <= limitMs, `a call was still pending after ${passedMs} ms`);
      await this.pass(stepMs);
    }
  }

  /** Lets time pass until the promise has settled; gives its value, or throws what it rejects with. */
  async settled<T>(promise: Promise<T>, limitMs?: number): Promise<T> {
    const ending = await this.ending(promise, limitMs);
    if ("error" in ending) throw ending.error;
    return ending.value;
  }

  /** Waits, really, until something has come about that takes no time by the place's clocks. */
  async eventually(what: string, happened: () => Promise<boolean> | boolean): Promise<void> {
    for (let waitedMs = 0; waitedMs <= PATIENCE_MS; waitedMs += 10) {
      if (await happened()) return;
      await waitReally(10);
    }
    assert.fail(`this never came about: ${what}`);
  }

  /** How many requests about this election are sent meanwhile, those too that the calls did not wait for. */
  async countRequests(act: () => Promise<unknown>, ...elections: readonly string[]): Promise<number> {
    // What was sent before, and goes on, is none of these.
    await this.pass(0);
    const sent = await requestsDuring(elections.length > 0 ? elections : [this.election], async () => {
      await act();
      await this.pass(0);
    });
    return sent.length;
  }

  /** Checks that a call refuses its arguments before it sends anything. */
  async refuses(what: string, election: string, call: () => Promise<unknown>): Promise<void> {
    const sent = await this.countRequests(async () => {
      const ending = await this.ending((async () => call())());
      assert.ok("error" in ending, `${what} was accepted`);
      assert.ok(
        isLeaseholdError(ending.error, "CONFIGURATION"),
        `${what} should be CONFIGURATION; it is ${String(ending.error)}`,
      );
    }, election);
    assert.equal(sent, 0, `${what} was refused only after a request`);
  }
}

/** How much later than a lease runs out a process without a memory may find that, by the store's own clock; twice what it states, since that is a bound. */
export function storeClockLatenessMs({ capabilities }: LeaseStore): number {
  const { storeClock } = capabilities;
  // A clock that is not exact takes two readings to believe.
  return 2 * (storeClock?.toleranceMs ?? 0) + (storeClock?.exact === false ? 2_000 : 0);
}

export function outageMsOf({ leaseMs, outageMs = OUTAGE_LEASES * leaseMs }: Subject): number {
  return outageMs;
}

/** Checks that an error is one of the store's, and says what has to be said. */
export function assertStoreError(error: unknown): asserts error is StoreError {
  assert.ok(isLeaseholdError(error), `an error of the service should be a StoreError; it is ${String(error)}`);
  assert.match(error.code, /^STORE_/, `an error of the service has the code ${error.code}`);
  const { mayHaveBeenApplied, store, operation } = error as StoreError;
  assert.equal(typeof mayHaveBeenApplied, "boolean", "a StoreError must say whether the request may have been applied");
  assert.ok(store !== "" && operation !== "", "a StoreError must name the store and the operation");
}

/** Reports whether a reader was told that somebody has the lease, or may have it. */
export function isTaken(seen: LeaseSnapshot | undefined): boolean {
  return seen !== undefined && seen.state !== "vacant";
}

/** Checks that a reader was told that somebody leads, or that it cannot tell. */
export function assertLed(seen: LeaseSnapshot | undefined, about: string): asserts seen is LeaseSnapshot {
  assert.ok(seen, `${about}: nothing was found`);
  assert.ok(
    seen.state === "held" || seen.state === "unknown" || seen.state === "ending",
    `${about}: the state was '${seen.state}', though somebody leads`,
  );
}
