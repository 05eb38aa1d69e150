import assert from "node:assert/strict";
import { isLeaseholdError, type LeaseSnapshot, type LeaseStore, type StoreError } from "@leasehold/core";
import {
  type ReadOptions,
  systemClock,
  type Clock,
  mayAcquire,
  type AcquireOutcome,
  type AcquireRequest,
  type Lease,
  type RenewOutcome,
  type RequestLimits,
} from "@leasehold/core/provider";
import { eventLoopTurn, waitReally } from "./real-time.ts";
import { requestsDuring } from "./request-counter.ts";
import type { GuardedText, TestEnvironment, StoreUnderTest, UnreliableConnection } from "./store-under-test.ts";

/** The longest time for one request. */
const MAX_TIMEOUT_MS = 30_000;
/** The real time within which all processes must see what a service has done. */
const PATIENCE_MS = 20_000;
/** The number of steps in which a lease passes while something is checked at each step. */
export const STEPS_PER_LEASE = 20;
/** The length of a long outage, in leases: ten minutes at 15 seconds. */
const OUTAGE_LEASES = 40;

let scenes = 0;

/** The result of a promise. */
export type Ending<T> = { readonly value: T } | { readonly error: unknown };

/** The tools of one case: a place, an election of its own, and the steps that many cases share. */
export class Scenario {
  readonly subject: StoreUnderTest;
  readonly place: TestEnvironment;
  /** A unique name, so that its requests can be distinguished. */
  readonly election: string;
  readonly leaseMs: number;
  /** The number of operations, or of leaderships, in the cases of a thousand. */
  readonly rounds: number;
  /** Long enough for a lease that is not renewed to expire for every process that watched it. */
  readonly lapseMs: number;
  /** The duration of a long outage of the service. */
  readonly outageMs: number;
  readonly limits: RequestLimits;

  constructor(subject: StoreUnderTest, place: TestEnvironment, caseId: string) {
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

  /** Returns the stores of `count` processes. */
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

  /** The clock of the place's stores. */
  get clock(): Clock {
    return this.place.clock ?? systemClock;
  }

  /** Returns the store of one more process with clocks of its own. */
  async connectWith(clock: Clock): Promise<LeaseStore> {
    const store = await this.place.connectWith?.(clock);
    assert.ok(store, "the place has no connectWith, and lacks.clocks does not say why");
    return store;
  }

  /**
   * Returns the stores of `count` processes, and a function that cuts all of them off from the service until its result is
   * disposed of.
   */
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

  /** Returns a text that the store's fence guards. */
  async guard(): Promise<GuardedText> {
    const text = await this.place.guard?.();
    assert.ok(text, "the place has no guard, and lacks.fence does not say why");
    return text;
  }

  /** Returns a request to acquire, as an elector makes it. */
  asking(candidateId: string, options: Partial<AcquireRequest> = {}): AcquireRequest {
    const { election, leaseMs, limits } = this;
    return { election, candidateId, leaseDurationMs: leaseMs, renewIntervalMs: Math.floor(leaseMs / 3), ...limits, ...options };
  }

  async look(store: LeaseStore, options: ReadOptions = {}, election: string = this.election): Promise<LeaseSnapshot | undefined> {
    // Without this a store that answers without waiting would let no other running case proceed.
    await eventLoopTurn();
    return await store.read(election, { ...this.limits, ...options });
  }

  /** Reads and then tries to acquire, as a standby does. */
  async attempt(store: LeaseStore, candidateId: string, options: Partial<AcquireRequest> = {}): Promise<AcquireOutcome> {
    const { expiry } = options;
    const request = this.asking(candidateId, options);
    const seen = await this.look(store, { expiry }, request.election);
    const outcome = await store.acquire(request);
    // If candidates judge expiry themselves, an attempt fails when the read just before it gave no reason to acquire.
    if (store.capabilities.expiry === "observed" && !mayAcquire(seen, candidateId, options.reservation?.group)) {
      assert.equal(outcome.acquired, false, `'${candidateId}' acquired a lease that its own store calls '${seen?.state}'`);
    }
    return outcome;
  }

  /** Acquires; fails the case if that does not succeed. */
  async win(store: LeaseStore, candidateId: string, options: Partial<AcquireRequest> = {}): Promise<Lease> {
    const outcome = await this.attempt(store, candidateId, options);
    assert.ok(outcome.acquired, `'${candidateId}' should have acquired the lease; the outcome is ${JSON.stringify(outcome)}`);
    return outcome.lease;
  }

  /** Tries to acquire; fails the case if that succeeds. */
  async lose(store: LeaseStore, candidateId: string, options: Partial<AcquireRequest> = {}): Promise<void> {
    const outcome = await this.attempt(store, candidateId, options);
    assert.equal(outcome.acquired, false, `'${candidateId}' acquired a lease that it must not have`);
  }

  /** Acquires and releases, so that there is a record, and it is vacant. Returns the term. */
  async leadOnce(store: LeaseStore): Promise<number> {
    const lease = await this.win(store, "earlier");
    assert.equal(await store.release(lease, this.limits), "released");
    return lease.term;
  }

  /** Renews; fails the case if that does not succeed. */
  async keep(store: LeaseStore, lease: Lease): Promise<Extract<RenewOutcome, { held: true }>> {
    const outcome = await store.renew(lease, this.limits);
    assert.ok(outcome.held, `the lease of term ${lease.term} should still be held; the outcome is ${JSON.stringify(outcome)}`);
    return outcome;
  }

  /** Renews; fails the case unless the lease is shown to be lost. */
  async isLost(store: LeaseStore, lease: Lease): Promise<Extract<RenewOutcome, { held: false }>> {
    const outcome = await store.renew(lease, this.limits);
    assert.equal(outcome.held, false, `the lease of term ${lease.term} was renewed, though it is over`);
    return outcome as Extract<RenewOutcome, { held: false }>;
  }

  /** Releases the lease; fails the case if that does not succeed. */
  async leave(store: LeaseStore, lease: Lease): Promise<void> {
    assert.equal(await store.release(lease, this.limits), "released");
  }

  /**
   * Checks that a read shows no leader after that term. A store that keeps no record shows the last term that this process has
   * seen, or nothing.
   */
  isFree(seen: LeaseSnapshot | undefined, term: number): void {
    const { state, holder, value } = seen ?? {};
    if (this.keepsRecord) assert.deepEqual([state, seen?.term, holder, value], ["vacant", term, undefined, undefined]);
    else assert.deepEqual([state ?? "vacant", holder, value], ["vacant", undefined, undefined]);
    assert.ok((seen?.term ?? 0) <= term, `a free lease has term ${seen?.term}, and there was none above ${term}`);
  }

  /** Checks that a read shows no leader once a lease has run out. If there is a record, the read also shows the last holder. */
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
   * Lets time pass until `happened` is true, in steps of a twentieth of a lease.
   * @throws if that takes longer than `withinMs`.
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
      assert.ok(passedMs <= withinMs, `this has not happened after ${passedMs} ms: ${what}`);
      await pass(this.leaseMs / STEPS_PER_LEASE);
    }
  }

  /** Lets time pass until the promise has settled. @throws if that takes longer than `limitMs`. */
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
      // A callback assigns `ending`, and the compiler does not see that.
      const now = ending as Ending<T> | undefined;
      if (now) return now;
      assert.ok(passedMs <= limitMs, `a call was still pending after ${passedMs} ms`);
      await this.pass(stepMs);
    }
  }

  /** Lets time pass until the promise has settled. Returns its value, or throws its error. */
  async settled<T>(promise: Promise<T>, limitMs?: number): Promise<T> {
    const ending = await this.ending(promise, limitMs);
    if ("error" in ending) throw ending.error;
    return ending.value;
  }

  /** Really waits until `happened` is true, for effects that take no time by the place's clocks. */
  async eventually(what: string, happened: () => Promise<boolean> | boolean): Promise<void> {
    for (let waitedMs = 0; waitedMs <= PATIENCE_MS; waitedMs += 10) {
      if (await happened()) return;
      await waitReally(10);
    }
    assert.fail(`this never happened: ${what}`);
  }

  /** Returns the number of requests about this election during `act`, with those that the calls did not wait for. */
  async countRequests(act: () => Promise<unknown>, ...elections: readonly string[]): Promise<number> {
    // Requests that were sent before are not counted.
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

/**
 * Returns the longest delay until a process without a memory finds a lease expired by the store's own clock. The suite allows
 * twice the stated tolerance.
 */
export function storeClockLatenessMs({ capabilities }: LeaseStore): number {
  const { storeClock } = capabilities;
  // A clock that is not exact needs two reads.
  return 2 * (storeClock?.toleranceMs ?? 0) + (storeClock?.exact === false ? 2_000 : 0);
}

export function outageMsOf({ leaseMs, outageMs = OUTAGE_LEASES * leaseMs }: StoreUnderTest): number {
  return outageMs;
}

/** Checks that an error is a `StoreError` with all of its facts. */
export function assertStoreError(error: unknown): asserts error is StoreError {
  assert.ok(isLeaseholdError(error), `an error of the service should be a StoreError; it is ${String(error)}`);
  assert.match(error.code, /^STORE_/, `an error of the service has the code ${error.code}`);
  const { mayHaveBeenApplied, store, operation } = error as StoreError;
  assert.equal(typeof mayHaveBeenApplied, "boolean", "a StoreError must say whether the request may have been applied");
  assert.ok(store !== "" && operation !== "", "a StoreError must name the store and the operation");
}

/** Reports whether a read shows that a candidate has the lease, or may have it. */
export function isTaken(seen: LeaseSnapshot | undefined): boolean {
  return seen !== undefined && seen.state !== "vacant";
}

/** Checks that a read shows a leader, or says that it cannot tell. */
export function assertLed(seen: LeaseSnapshot | undefined, about: string): asserts seen is LeaseSnapshot {
  assert.ok(seen, `${about}: nothing was found`);
  assert.ok(
    seen.state === "held" || seen.state === "unknown" || seen.state === "ending",
    `${about}: the state was '${seen.state}', though somebody leads`,
  );
}
